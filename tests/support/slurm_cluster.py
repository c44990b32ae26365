"""A real Slurm on this machine: Debian's slurmctld, slurmds and munged, on loopback, as root.

    with Cluster(folder, nodes=2) as cluster:
        subprocess.run(["sbatch", "--wrap", "hostname"], env=cluster.environment())
        cluster.kill_node("n1", whole=True)

Every node, and the controller with munged, runs in a PID namespace of its own. Its first process is
a shell that reads commands from a pipe of this process; where the pipe ends, so does the shell,
and the kernel kills what is left in the namespace: daemons, batch scripts and tasks, whatever they
did to hide. That is how a node is lost, how a cluster is taken down, and what happens if this
process is killed. Nothing of a Slurm or munge that the system has is used or touched.
"""

import os
import random
import secrets
import shlex
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

PROGRAMS = {"slurmctld": "slurmctld", "slurmd": "slurmd", "sbatch": "slurm-client",
            "munged": "munge", "unshare": "util-linux"}
SYSTEM = "/usr/sbin:/usr/bin:/sbin:/bin"
NAMESPACE = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
# A session of its own inside the namespace: slurmstepd signals the group that it is in, and that
# of a session begun outside would take unshare with it.
SESSION = ["setsid"]
# bash, since it takes in the orphans that end, too, and goes on reading meanwhile; dash does not.
INIT = ["bash", "-c", 'while read -r line; do eval "$line"; done']
LINK = "slurm-of-tests-"  # in /tmp, for a folder whose name is longer than
LONGEST_FOLDER = 60  # a socket's whole path may have 107 bytes

SLURM_CONF = """\
ClusterName=prenorm
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdSpoolDir={folder}/%n
SlurmdPidFile={folder}/%n.pid
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SwitchType=switch/none
MpiDefault=none
MailProg=/bin/true
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1
SlurmdParameters=config_overrides
ReturnToService=2
SlurmctldTimeout=10
SlurmdTimeout=5
MinJobAge=300
InactiveLimit=0
KillWait=2
OverTimeLimit=0
MessageTimeout=5
BatchStartTimeout=1
"""


def unavailable():
    """Why there can be no cluster here, or None."""
    for program, package in PROGRAMS.items():
        if not shutil.which(program, path=SYSTEM):
            return f"there is no {program} (Debian: {package})"
    if os.geteuid() != 0:
        return "a Slurm of our own has to be started by root"
    tried = subprocess.run([*NAMESPACE, "true"], capture_output=True, text=True)
    if tried.returncode:
        return f"no PID namespace can be made here: {tried.stderr.strip()}"
    return None


class Machine:
    """A PID namespace that runs what it is told to and dies at once, with all it has started."""

    def __init__(self, log):
        with open(log, "ab") as out:
            self._process = subprocess.Popen(
                [*NAMESPACE, *SESSION, *INIT], stdin=subprocess.PIPE, stdout=out, stderr=out,
                env={"PATH": SYSTEM, "LC_ALL": "C"}, cwd="/", start_new_session=True)

    def tell(self, line):
        self._process.stdin.write(f"{line}\n".encode())
        self._process.stdin.flush()

    def start(self, *command, **environment):
        """Starts a daemon that stays in the foreground."""
        words = [f"{name}={value}" for name, value in environment.items()]
        words = [*SESSION, "env", *words, *map(str, command)]
        self.tell(f"{shlex.join(words)} </dev/null &")

    def running(self):
        return self._process.poll() is None

    def end(self):
        """Returns when no process of it is left."""
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass
        self._process.wait()


class Cluster:
    """Slurm with `nodes` nodes n1, n2, ... of `cpus` CPUs each, however many there are here.

    `folder` is made if it is missing and keeps the logs afterwards. A node that does not answer is
    lost after 5 seconds; a job that has ended is forgotten after 300. `more` is added to slurm.conf.
    RuntimeError, with the logs, where it does not start within `patience` seconds.
    """

    def __init__(self, folder, nodes=2, cpus=4, more="", patience=30):
        self.folder = Path(folder).resolve()
        self.nodes = [f"n{index + 1}" for index in range(nodes)]
        self._cpus, self._more, self._patience = cpus, more, patience
        self._machines, self._link, self._folder = {}, None, self.folder

    def __enter__(self):
        try:
            self._write()
            self.start_controller()
            for node in self.nodes:
                self.start_node(node)
            self.wait_until_ready(seconds=self._patience)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends everything. Not needed where this process ends: then the pipes do it."""
        while self._machines:
            self._machines.popitem()[1].end()
        if self._link:
            self._link.communicate()
            self._link = None

    # What tests do with it

    def environment(self):
        """The environment of clients: this process's, for this cluster."""
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(("SLURM", "SBATCH_", "SQUEUE_", "SINFO_", "SCANCEL_"))}
        return kept | {"SLURM_CONF": str(self._folder / "slurm.conf")}

    def run(self, *command, check=True, **options):
        """A client's finished process, its output as text."""
        done = subprocess.run([*map(str, command)], env=self.environment(), capture_output=True,
                              text=True, timeout=60, **options)
        if check and done.returncode:
            raise RuntimeError(f"{shlex.join(done.args)} ended with {done.returncode}: "
                               f"{done.stderr}\n{self.logs()}")
        return done

    def start_controller(self):
        machine = self._machine("controller")
        machine.start("munged", "--foreground", "--force", "--num-threads=4",
                      *(f"--{name}-file={self._folder}/munge.{name}"
                        for name in ("key", "log", "pid", "seed")),
                      f"--socket={self._folder}/munge.socket")
        self._wait(lambda: (self._folder / "munge.socket").exists(), "munged has no socket")
        machine.start("slurmctld", "-D", SLURM_CONF=self._folder / "slurm.conf")

    def stop_controller(self):
        """No slurmctld and no munged any more; tasks go on meanwhile."""
        self.run("scontrol", "shutdown", "slurmctld")
        pid = self._folder / "slurmctld.pid"
        self._wait(lambda: not pid.exists(), "slurmctld does not end")
        self._machines.pop("controller").end()
        (self._folder / "munge.socket").unlink(missing_ok=True)

    def resume(self, name):
        """Lets a drained node take jobs again."""
        self.run("scontrol", "update", f"NodeName={name}", "State=RESUME")

    def start_node(self, name):
        """Starts the slurmd of a node that was killed, or that was never started."""
        (self._folder / f"{name}.pid").unlink(missing_ok=True)  # of a node that was lost
        self._machine(name).start("slurmd", "-D", "-N", name,
                                  SLURM_CONF=self._folder / "slurm.conf")

    def kill_node(self, name, whole=False):
        """SIGKILL for slurmd; jobs go on without it. `whole`: for all that runs on the node."""
        if whole:
            self._machines.pop(name).end()
            return
        pid = self._folder / f"{name}.pid"
        self._wait(lambda: pid.exists() and pid.read_text().strip(), f"{name} has no slurmd")
        self._machines[name].tell(f"kill -KILL {int(pid.read_text())}; rm {pid}")
        self._wait(lambda: not pid.exists(), f"{name}: slurmd does not end")

    def give_up_node(self, name):
        """Tells Slurm at once that a killed node is lost, what it finds out in 15 to 20 seconds."""
        self.run("scontrol", "update", f"NodeName={name}", "State=DOWN", "Reason=lost")

    def bring_back(self):
        """Starts every node that was killed whole, and lets it take jobs again."""
        for name in self.nodes:
            if name not in self._machines:
                self.start_node(name)
                self._wait(lambda: self.run("scontrol", "update", f"NodeName={name}", "State=RESUME",
                                            check=False).returncode == 0, f"{name} stays away")

    def states(self):
        """{node: its state as sinfo names it, like "idle", "mixed", "down*"}"""
        done = self.run("sinfo", "-h", "-N", "-o", "%N %T", check=False)
        return dict(line.split() for line in done.stdout.splitlines())

    def run_out_of_time(self, job):
        """Leaves a task, or an array that runs with all its tasks, no time: Slurm looks every 30 s.

        Limits count in minutes otherwise, so that the shortest takes up to 90 seconds.
        """
        end = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() + 1))
        self.run("scontrol", "update", f"JobId={job}", f"EndTime={end}")

    def wait_until_ready(self, *names, seconds=30):
        """Waits until nodes (all, unless named) answer and take jobs."""
        wanted = names or self.nodes
        ready = {"idle", "mixed", "allocated"}

        def told():
            states = self.states()
            return all(states.get(name) in ready for name in wanted)

        self._wait(told, f"{', '.join(wanted)}: not ready", seconds)

    def wait_until_idle(self):
        """Waits until all nodes are up and nothing runs on them."""
        self._wait(lambda: set(self.states().values()) == {"idle"}, "the nodes are not idle", 60)

    def logs(self):
        """What the daemons have written last, for the message of a failure."""
        parts = []
        for kind, count in (("out", 5), ("log", 30)):
            for path in sorted(self.folder.glob(f"*.{kind}")):
                lines = path.read_text(errors="replace").splitlines()
                parts += [f"{path.name}:", *(f"  {line}" for line in lines[-count:])]
        return "\n".join(parts)

    # How it is made

    def _write(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        if len(bytes(self.folder)) > LONGEST_FOLDER:
            link = tempfile.mkdtemp(prefix=LINK, dir="/tmp")
            # Removed when the pipe ends: by close(), or by this process's death.
            self._link = subprocess.Popen(["sh", "-c", 'read -r _; rm -r "$0"', link],
                                          stdin=subprocess.PIPE, start_new_session=True)
            os.chmod(link, 0o755)
            self._folder = Path(link, "s")
            self._folder.symlink_to(self.folder)
        for name in ("state", *self.nodes):  # of an earlier cluster in this folder
            shutil.rmtree(self.folder / name, ignore_errors=True)
            (self.folder / name).mkdir()
        for name in ("slurmctld.pid", "munge.socket"):
            (self.folder / name).unlink(missing_ok=True)
        key = self.folder / "munge.key"
        key.touch(0o600)
        key.write_bytes(secrets.token_bytes(128))
        ports = free_ports(1 + len(self.nodes))
        host = socket.gethostname().split(".")[0]
        lines = [SLURM_CONF.format(host=host, port=ports[0], folder=self._folder)]
        for name, port in zip(self.nodes, ports[1:]):
            lines.append(f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} "
                         f"CPUs={self._cpus} RealMemory=8000 State=UNKNOWN\n")
        lines.append("PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n")
        lines.append(self._more)
        (self.folder / "slurm.conf").write_text("".join(lines))

    def _machine(self, name):
        if name not in self._machines:
            self._machines[name] = Machine(self.folder / f"{name}.out")
        return self._machines[name]

    def _wait(self, condition, what, seconds=30):
        end = time.monotonic() + seconds
        while not condition():
            dead = [name for name, machine in self._machines.items() if not machine.running()]
            if dead or time.monotonic() > end:
                why = f"ended: {', '.join(dead)}" if dead else f"after {seconds} s"
                raise RuntimeError(f"{what} ({why})\n{self.logs()}")
            time.sleep(0.05)


def free_ports(count):
    """Ports that nobody listens on, below those that the kernel hands out by itself."""
    found = set()
    while len(found) < count:
        port = random.randrange(10000, 32768)
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.add(port)
    return sorted(found)
