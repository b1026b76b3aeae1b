"""Web servers under load."""

import os
import re
import signal
import time

from hosts import HostError, Watch, wait_for
from program import Program, digest_of

NGINX = """
daemon off; master_process on; worker_processes 2; pid {directory}/nginx.pid;
error_log {directory}/nginx.log error;
{user}
events {{ worker_connections 512; }}
http {{
  access_log off; client_body_temp_path {directory}/b; proxy_temp_path {directory}/p;
  fastcgi_temp_path {directory}/f; uwsgi_temp_path {directory}/u; scgi_temp_path {directory}/s;
  server {{
    listen 127.0.0.1:{port}; root {directory}/www;
    location / {{
      gzip on; gzip_min_length 1; gzip_types text/plain; ssi on; ssi_types text/plain;
    }}
  }}
}}
"""


def log_of(host, name):
    with open(host.path(name), encoding="utf-8", errors="replace") as file:
        return file.read()


def nginx(host, options):
    """nginx under wrk.  Its workers are replaced every second."""
    os.makedirs(host.path("www"))
    host.file("www/a.txt", "a line of text that compresses\n" * 500)
    user = "user root;" if os.getuid() == 0 else ""
    text = NGINX.format(directory=host.directory, port=options.port, user=user)
    configuration = host.file("nginx.conf", text)
    server = host.start(["nginx", "-c", configuration, "-p", host.directory])
    url = f"http://127.0.0.1:{options.port}/a.txt"

    def up():
        return os.path.exists(host.path("nginx.pid")) and os.path.getsize(host.path("nginx.pid"))

    wait_for("nginx", up)
    page = host.helper(["curl", "-sS", "--retry", "5", "--retry-connrefused", url])
    watch = Watch(server.pid)
    bad_answers = 0
    end = time.monotonic() + options.seconds
    while time.monotonic() < end:
        out = host.helper(["wrk", "-t1", "-c20", "-d1s", url])
        bad = re.search(r"Non-2xx or 3xx responses: (\d+)", out)
        bad_answers += int(bad[1]) if bad else 0
        if not re.search(r"[1-9]\d* requests in", out):
            raise HostError(f"nginx answered nothing: {out[-300:]}")
        server.send_signal(signal.SIGHUP)
    host.memory = watch.stop()
    same_page = host.helper(["curl", "-sS", url]) == page
    status = host.end(server, signal.SIGQUIT)
    crashes = r"exited on signal \d+|exited with (?:fatal )?code [1-9]\d*"
    return {
        "status": status,
        "bad answers": bad_answers,
        "same page": same_page,
        "crashes": re.findall(crashes, log_of(host, "nginx.log")),
    }


APACHE = """
ServerRoot /etc/apache2
ServerName localhost
Listen 127.0.0.1:{port}
PidFile {directory}/pid
Mutex file:{directory}
DefaultRuntimeDir {directory}
ErrorLog {directory}/apache.log
{user}
LoadModule mpm_prefork_module /usr/lib/apache2/modules/mod_mpm_prefork.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule autoindex_module /usr/lib/apache2/modules/mod_autoindex.so
LoadModule cgi_module /usr/lib/apache2/modules/mod_cgi.so
LoadModule deflate_module /usr/lib/apache2/modules/mod_deflate.so
LoadModule dir_module /usr/lib/apache2/modules/mod_dir.so
LoadModule filter_module /usr/lib/apache2/modules/mod_filter.so
LoadModule include_module /usr/lib/apache2/modules/mod_include.so
LoadModule mime_module /usr/lib/apache2/modules/mod_mime.so
LoadModule rewrite_module /usr/lib/apache2/modules/mod_rewrite.so
TypesConfig /etc/mime.types
StartServers 3
MaxRequestsPerChild 200
DocumentRoot {directory}/www
<Directory {directory}/www>
  Options +Indexes +ExecCGI +Includes
  Require all granted
  AddHandler cgi-script .sh
  AddOutputFilter INCLUDES;DEFLATE .shtml
</Directory>
RewriteEngine on
RewriteRule ^/also/(.*)$ /$1
"""
PAGES = ("a.txt", "b.shtml", "also/a.txt", "c.sh", "missing", "")


def apache(host, options):
    """apache with processes (prefork): pages of modules, a reload each second, an orderly end."""
    os.makedirs(host.path("www"))
    host.file("www/a.txt", "a line of text that compresses\n" * 500)
    host.file("www/b.shtml", '<!--#include virtual="/a.txt" --><!--#echo var="REQUEST_URI" -->')
    script = "#!/bin/sh\necho 'Content-Type: text/plain'\necho\nseq 99\n"
    os.chmod(host.file("www/c.sh", script), 0o755)
    user = "User www-data\nGroup www-data" if os.getuid() == 0 else ""
    text = APACHE.format(directory=host.directory, port=options.port, user=user)
    configuration = host.file("apache.conf", text)
    server = host.start(["apache2", "-DFOREGROUND", "-f", configuration])
    base = f"http://127.0.0.1:{options.port}/"
    fetch = ["curl", "-sS", "--compressed", "--retry", "20", "--retry-connrefused"]
    fetch += ["--retry-delay", "1", "-w", "%{http_code}"]

    def pages():
        # The index shows when files were made.
        dates = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")
        texts = {it: dates.sub("DATE", host.helper([*fetch, base + it])) for it in PAGES}
        return {it: (text[-3:], digest_of(text)) for it, text in texts.items()}

    before = pages()
    failed = 0
    rounds = max(1, min(options.seconds, 60) // 5)
    for _ in range(rounds):
        for page in ("a.txt", "b.shtml", "c.sh"):
            out = host.helper(["ab", "-q", "-n", "300", "-c", "6", base + page])
            failed += sum(int(it) for it in re.findall(r"(?:Failed|Non-2xx).*: +(\d+)", out))
        server.send_signal(signal.SIGUSR1)
        time.sleep(1)
    after = pages()
    status = host.end(server, signal.SIGTERM)
    log = log_of(host, "apache.log")
    return {
        "status": status,
        "pages": before,
        "same pages": after == before,
        "failed requests": failed,
        "crashes": re.findall(r"exit signal .*?\(\d+\)", log),
    }


PROGRAMS = (
    Program("nginx", nginx, (("nginx", "nginx-light"), ("wrk", "wrk"), ("curl", "curl"))),
    Program("apache", apache, (("apache2", "apache2"), ("ab", "apache2-utils"), ("curl", "curl"))),
)
