#!/usr/bin/env python3
"""Web applications of Flask and Django that leak one object per 100 requests: `allomon report
--leaks` must name the line in the application, and who called it.

    python_servers.py --library liballomon.so --allomon PATH [--requests 3000] [--rate 1e-3]

Run by hand: it needs the packages python3-flask and python3-django.
"""

import argparse
import csv
import http.client
import io
import os
import subprocess
import sys
import tempfile

# What both applications do.  A page is rendered from a template, with data that is garbage behind
# the answer; every 100th request leaves a list in `history`.
APPLICATION = """
import itertools

history = []
requests = itertools.count(1)

def load(n):
    return [{"id": n + i, "name": f"user {n + i}", "tags": [str(n), str(i)]} for i in range(40)]

def remember(n):
    history.append([f"request {n}: {i}" for i in range(300)])

def answer(render):
    n = next(requests)
    rows = load(n)
    if n % 100 == 0:
        remember(n)
    return render(rows)
"""
PAGE = "{% for row in rows %}<li>{{ row.id }}: {{ row.name }}</li>{% endfor %}"
FLASK = f"""
import flask
import application

app = flask.Flask(__name__)

@app.route("/")
def index():
    return application.answer(lambda rows: flask.render_template_string({PAGE!r}, rows=rows))

from werkzeug.serving import make_server
server = make_server("127.0.0.1", 0, app, threaded=True)
print(server.server_port, flush=True)
server.serve_forever()
"""
DJANGO = f"""
import django
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse
from django.template import Context, Template
from django.urls import path
import application

settings.configure(
    ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__, SECRET_KEY="x",
    TEMPLATES=[{{"BACKEND": "django.template.backends.django.DjangoTemplates"}}],
    MIDDLEWARE=["django.middleware.common.CommonMiddleware"],
)
django.setup()
template = Template({PAGE!r})

def index(request):
    return application.answer(lambda rows: HttpResponse(template.render(Context({{"rows": rows}}))))

urlpatterns = [path("", index)]

from wsgiref.simple_server import WSGIRequestHandler, make_server
WSGIRequestHandler.log_message = lambda *arguments: None
server = make_server("127.0.0.1", 0, get_wsgi_application())
print(server.server_port, flush=True)
server.serve_forever()
"""
SERVERS = {"flask": FLASK, "django": DJANGO}


def ask(port, times):
    for _ in range(times):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/")
        answer = connection.getresponse()
        if answer.status != 200 or b"<li>" not in answer.read():
            raise RuntimeError(f"status {answer.status}")
        connection.close()


def serve(arguments, name, folder):
    """Runs the server until all requests are answered, and kills it: nothing is written at an end.
    """
    for file, text in (("application.py", APPLICATION), ("server.py", SERVERS[name])):
        with open(os.path.join(folder, file), "w", encoding="utf-8") as output:
            output.write(text)
    environment = {
        **os.environ,
        "LD_PRELOAD": os.path.abspath(arguments.library),
        "ALLOMON_RECORD": os.path.join(folder, "server.rec"),
        "ALLOMON_RATE": str(arguments.rate),
    }
    log = os.path.join(folder, "log")
    with open(log, "w", encoding="utf-8") as errors, subprocess.Popen(
        [arguments.python, "-B", "server.py"], cwd=folder, env=environment,
        stdout=subprocess.PIPE, stderr=errors, text=True,
    ) as server:
        try:
            ask(int(server.stdout.readline()), arguments.requests)
        finally:
            server.kill()


def report(arguments, folder, *options):
    return subprocess.run(
        [arguments.allomon, "report", *options, os.path.join(folder, "server.rec")],
        capture_output=True, text=True, check=True,
    ).stdout


def check(arguments, name):
    """What is wrong, or nothing."""
    with tempfile.TemporaryDirectory() as folder:
        serve(arguments, name, folder)
        text = report(arguments, folder, "--leaks", "--top=3", "--width=100")
        leaks = list(csv.DictReader(io.StringIO(report(
            arguments, folder, "--leaks", "--format=csv"
        ))))
    print(f"== {name}\n{text}")
    first = ",".join(leaks[0].values()) if leaks else "none"
    wrong = []
    if "remember" not in first or "application.py" not in first:
        wrong.append(f"{name}: the first leak is {first}")
    for caller in ("application.py", "server.py"):
        if caller not in text:
            wrong.append(f"{name}: the callers do not name {caller}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--library", required=True)
    parser.add_argument("--allomon", required=True)
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--requests", type=int, default=3000)
    parser.add_argument("--rate", type=float, default=1e-3)
    arguments = parser.parse_args()
    wrong = [line for name in SERVERS for line in check(arguments, name)]
    print("\n".join([*wrong, "FAIL" if wrong else "PASS"]))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
