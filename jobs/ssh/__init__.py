"""The one door to other machines by the system's own `ssh` program: logins, one command, a tunnel to a socket.

    login = read_login("ssh://bench@gpu-box:22", known_hosts=None, identity=None)
    text = run(login, ["df", "-P", "/"], timeout_s=20)
    tunnel = open_tunnel(login, "/var/run/docker.sock"); tunnel.ensure(); tunnel.path

Nothing is ever asked of a person, and no host key is ever accepted that is not known already. `~/.ssh/config` counts,
so a host may be a name from there.

    HostAway (TryLater)       no answer: refused, timed out, no route, connection lost; waiting may heal it
    HostRefused (UserError)   waiting heals nothing: host key, login, ssh missing; the message has the cure
    CommandFailed             the command itself ended with another exit code than 0
"""

from jobs.ssh.commands import run
from jobs.ssh.failures import CommandFailed, HostAway, HostRefused
from jobs.ssh.login import SshLogin, read_login, read_path
from jobs.ssh.tunnel import Tunnel, close_tunnels, open_tunnel, share_tunnel

__all__ = [
    "CommandFailed",
    "HostAway",
    "HostRefused",
    "SshLogin",
    "Tunnel",
    "close_tunnels",
    "open_tunnel",
    "read_login",
    "read_path",
    "run",
    "share_tunnel",
]
