"""--launcher and --address: where runs, or the collectors of one run, are worked on."""

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scrubjay.cli.main import CommandError

if TYPE_CHECKING:
    from scrubjay.runs.launchers import Launcher


def add_launcher(parser: argparse.ArgumentParser) -> None:
    """The two options."""
    parser.add_argument(
        "--launcher",
        choices=("local", "ray"),
        default="local",
        help="this machine (default), or a Ray cluster (docs/scale.md)",
    )
    parser.add_argument(
        "--address",
        metavar="HOST:PORT",
        help="address of the Ray cluster, or auto; without it Ray is started on this machine",
    )


def launcher_of(arguments: argparse.Namespace) -> "Launcher":
    """The chosen launcher, connected."""
    from scrubjay.runs.launchers import make_launcher
    from scrubjay.runs.ray_cluster import RayError

    try:
        return make_launcher(arguments.launcher, arguments.address)
    except (ValueError, ImportError, RayError) as error:
        raise CommandError(str(error)) from error


def transport_of(arguments: argparse.Namespace, collectors: int) -> Callable[..., Any] | None:
    """The transport of a run's collectors; None for processes of this machine."""
    if arguments.launcher == "local":
        if arguments.address is not None:
            raise CommandError("--address is for --launcher ray")
        return None
    if not collectors:
        raise CommandError("--launcher ray puts collectors on other machines: add --collectors N")
    from functools import partial

    from scrubjay.runs.ray_cluster import RayError, connect
    from scrubjay.runs.ray_collectors import RayCollectors

    try:
        connect(arguments.address)  # before anything is created
    except (ImportError, RayError) as error:
        raise CommandError(str(error)) from error
    return partial(RayCollectors, address=arguments.address)
