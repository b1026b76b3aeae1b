"""Which Debian packages the programs are in, and how they are installed."""

import os
import shutil
import subprocess
import sys


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
