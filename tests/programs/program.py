"""What the campaign knows of a program: what it needs, and how it is run."""

import dataclasses
import hashlib
import os
import shutil
import subprocess
import sys
from typing import Callable


@dataclasses.dataclass(frozen=True)
class Program:
    """One row of the table.

    run(host, options) runs the program under a Host and returns a dictionary of what must be the
    same in every run.  The parts that differ from run to run anyway (times, process numbers, order
    of threads) are left out.
    """

    name: str
    run: Callable
    # (a command of PATH or a file that must be there, the Debian packages that have it)
    needs: tuple
    # Who runs it, if that cannot be root.
    user: str = ""
    # Lines of Allomon's that are true of this program.
    may_say: str = r"(?!)"
    # Whether some process leaves a profile in the modes that profile.
    profiled: bool = True


def digest(path):
    with open(path, "rb") as file:
        return digest_of(file.read())


def digest_of(content):
    if isinstance(content, str):
        content = content.encode("utf-8", "surrogateescape")
    return hashlib.sha256(content).hexdigest()[:16]


# ---- The Debian packages that programs are in, and their installation


def missing(needs):
    """The packages of (command or file, packages) pairs of which the first is not there."""
    path = "/usr/sbin:/usr/bin:/sbin:/bin"
    found = []
    for what, packages in needs:
        if not (os.path.exists(what) if what[0] == "/" else shutil.which(what, path=path)):
            found += [it for it in packages.split() if it not in found]
    return found


def install(packages):
    """Installs packages without what they recommend.  Their services are not started: a
    policy-rc.d that refuses is put in place meanwhile, unless there is one."""
    print(f"installing {' '.join(packages)}", flush=True)
    prefix = [] if os.getuid() == 0 else ["sudo"]
    policy = "/usr/sbin/policy-rc.d"
    put = not os.path.exists(policy)
    if put:
        text = "printf '#!/bin/sh\\nexit 101\\n' > $0 && chmod 755 $0"
        subprocess.run([*prefix, "sh", "-c", text, policy], check=True)
    try:
        command = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y"]
        subprocess.run([*prefix, *command, "--no-install-recommends", *packages], check=True)
    except subprocess.CalledProcessError:
        sys.exit(f"real_programs: apt-get could not install {' '.join(packages)}")
    finally:
        if put:
            subprocess.run([*prefix, "rm", "-f", policy], check=True)


def version(needs):
    """The version of the Debian package that has the first thing a program needs, or ''."""
    what = needs[0][0]
    path = what if what[0] == "/" else shutil.which(what, path="/usr/sbin:/usr/bin:/sbin:/bin")
    for name in (os.path.realpath(path or ""), path or ""):
        # Files of /usr/bin may be listed as those of /bin.
        for candidate in (name, name.removeprefix("/usr")):
            owner = ask(["dpkg-query", "-S", candidate]).split(":")[0]
            if owner and "," not in owner:
                found = ask(["dpkg-query", "-W", "-f", "${Version}", owner])
                return found.split(":")[-1].split("-")[0].split("+")[0]
    return ""


def ask(argv):
    return subprocess.run(argv, capture_output=True, text=True, check=False).stdout
