"""An empty root: a folder with the files of Debian packages and their dependencies, and no other file of this machine. Standard library only."""

import functools
import io
import os
import re
import shutil
import stat
import subprocess
import tarfile

MERGED = ("bin", "sbin", "lib", "lib64")  # links into /usr
RANDOM = ("/dev/random", "/dev/urandom")  # without them, a JVM needs seconds to compute its seeds


def output(command, **arguments):
    """Returns both streams of a command. If it fails, the error contains them and the exit code."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **arguments)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}exit code {done.returncode}"
    return done.stdout


@functools.cache
def installed():
    """Returns the dependencies of each installed package and of each name that a package provides."""
    listed = output(["dpkg-query", "-W", "-f", "${db:Status-Status}\t${Package}\t${Depends},${Pre-Depends}\t${Provides}\n"])
    needs = {}
    for status, package, depends, provides in (line.split("\t") for line in listed.splitlines()):
        if status == "installed":
            needs[package] = depends
            for name in re.findall(r"([\w.+-]+)(?: \([^)]*\))?", provides):
                needs.setdefault(name, package)
    return needs


def names(relations):
    """Yields the package of each relation; if it has alternatives, the first that is installed."""
    for relation in (r for r in relations.split(",") if r.strip()):
        choices = [re.match(r"\s*([\w.+-]+)", c).group(1) for c in relation.split("|")]
        yield next((c for c in choices if c in installed()), choices[0])


def closure(packages):
    found, waiting = set(), list(packages)
    while waiting:
        package = waiting.pop()
        if package in found:
            continue
        assert package in installed(), f"package {package} is needed and not installed on this machine"
        found.add(package)
        waiting += names(installed()[package])
    return found


@functools.cache
def archived(deb, which):
    """Returns the tar of a package with its files or its control data. Each process decompresses it once."""
    return subprocess.run(["dpkg-deb", which, deb], stdout=subprocess.PIPE, check=True).stdout


def listed(deb):
    """Paths of a package's files, a line for each."""
    with tarfile.open(fileobj=io.BytesIO(archived(deb, "--fsys-tarfile"))) as files:
        return "".join(name + "\n" for name in files.getnames())


def unpack(deb, folder):
    """Unpacks the files of a package, as dpkg -x does."""
    os.makedirs(folder, exist_ok=True)
    subprocess.run(["tar", "-xp", "-C", folder, "-f", "-"], input=archived(deb, "--fsys-tarfile"), check=True)


@functools.cache
def namespace():
    """Returns the start of a command that may call chroot and mount /proc and random devices in the root."""
    wanted = ["unshare", "--mount", *["--map-root-user"] * (os.geteuid() != 0)]
    able = subprocess.run([*wanted, "true"], capture_output=True, check=False).returncode == 0
    return wanted if able else []


class Root:
    """Contains Debian's packages, copied from this machine, our packages, unpacked, and all dependencies."""

    def __init__(self, folder, debs=(), packages=()):
        self.folder = folder
        for name in MERGED:
            os.makedirs(os.path.join(folder, "usr", name), exist_ok=True)
            os.symlink("usr/" + name, os.path.join(folder, name))
        for name in ("tmp", "dev/shm", "proc", "work"):
            os.makedirs(os.path.join(folder, name))
        for name in RANDOM:
            open(folder + name, "wb").close()
        ours = {output(["dpkg-deb", "-f", deb, "Package"]).strip(): deb for deb in debs}
        outside = set(packages)
        for deb in debs:
            outside |= set(names(output(["dpkg-deb", "-f", deb, "Depends"]).strip())) - set(ours)
        self.packages = closure(outside)
        files = output(["dpkg-query", "-L", *self.packages]).splitlines()
        for path in files:
            if not path.startswith("/usr/share/") or path.startswith(("/usr/share/java", "/usr/share/python")):
                self.copy(path)
        for deb in debs:
            unpack(deb, folder)
        self.alternatives()

    def path(self, *parts):
        """Returns the path, outside of the root, of a file in its /work."""
        return os.path.join(self.folder, "work", *parts)

    def alternatives(self):
        """Copies links that packages create when installed, such as libblas.so.3, if the root has their targets."""
        for record in os.listdir("/var/lib/dpkg/alternatives"):
            with open("/var/lib/dpkg/alternatives/" + record, encoding="utf-8") as file:
                head = file.read().split("\n\n")[0].splitlines()
            for name, link in [(record, head[1]), *zip(head[2::2], head[3::2])]:
                choice = "/etc/alternatives/" + name
                if os.path.islink(choice) and os.path.lexists(self.folder + os.readlink(choice)):
                    self.copy(choice)
                    self.copy(link)

    def copy(self, path):
        target = self.folder + path
        if not os.path.lexists(path) or os.path.lexists(target):
            return
        os.makedirs(os.path.dirname(target), exist_ok=True)
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            os.symlink(os.readlink(path), target)
        elif stat.S_ISREG(mode):
            shutil.copy(path, target)

    def bring(self, *paths):
        """Copies files to /work of the root."""
        for path in paths:
            shutil.copy(path, os.path.join(self.folder, "work"))

    def run(self, command, **environment):
        """Runs a command in the root, in /work, with only the given environment."""
        mounts = "".join(f'mount --bind {name} "$0{name}" 2>/dev/null || rm -f "$0{name}"; ' for name in RANDOM)
        enter = [*namespace(), "sh", "-c", f'mount --rbind /proc "$0/proc" 2>/dev/null; {mounts}exec chroot "$0" "$@"', self.folder]
        ldconfig = ["/sbin/ldconfig"] if os.path.exists(self.folder + "/sbin/ldconfig") else []
        if ldconfig and not os.path.exists(self.folder + "/etc/ld.so.cache"):
            shutil.copytree("/etc/ld.so.conf.d", self.folder + "/etc/ld.so.conf.d", dirs_exist_ok=True)
            shutil.copy("/etc/ld.so.conf", self.folder + "/etc")
            output([*enter, *ldconfig])
        inside = ["/usr/bin/env", "-i", "PATH=/usr/bin:/bin", "HOME=/tmp", "LC_ALL=C.UTF-8",
                  *(f"{k}={v}" for k, v in environment.items()), "sh", "-c", 'cd /work && exec "$@"', "sh", *command]
        return output([*enter, *inside])
