"""The settings of the shell that a command was given in.

In: the environment. Out: `Settings`, and on standard error a line for each variable that is written nearly like one of ours.
"""

import os

import click

from service.settings import Settings, load_settings, misspelled_variables


def shell_settings() -> Settings:
    """Raises `InvalidSetting` for a value that cannot be used."""
    settings = load_settings()
    for name, near in misspelled_variables(os.environ).items():
        click.echo(f"warning: {name} is no setting and has no effect; {near} is one.", err=True)
    return settings
