"""`token`: who may use the API over TCP, and for what."""

import click

from nodus_tui.cli.exits import Exit
from nodus_tui.cli.failures import say
from nodus_tui.cli.options import TargetType, output_option
from nodus_tui.cli.output import emit, json_text, table_text
from nodus_tui.connect import home_path, hosting
from nodus_tui.contract.hosting import TokenRole


@click.group("token")
def command() -> None:
    """The tokens of `nodus-tui serve`. A viewer's looks, copies files, validates and estimates; an operator's acts, too."""


@command.command("create")
@click.argument("name", type=TargetType())
@click.option("--role", type=click.Choice(["viewer", "operator"]), required=True, help="What its holder may do.")
def create(name: str, role: TokenRole) -> int:
    """Make a token for NAME, who then stands as the author of what is done with it, and print it: it is shown this once only."""
    emit(hosting().create_token(home_path(), name, role))
    article = "an" if role == "operator" else "a"
    say(f"{name} is {article} {role} now. Only a hash is kept: what is printed here cannot be shown again; clients have it in NODUS_TOKEN")
    return Exit.DONE


@command.command("list")
@output_option("table", "json")
def list_tokens(output: str) -> int:
    """Who has a token, and for what. No token is shown."""
    facts = hosting().tokens(home_path())
    if output == "json":
        emit(json_text([fact.to_document() for fact in facts]))
    else:
        rows = [(fact.name, fact.role, f"{fact.created_at:%Y-%m-%d %H:%M}Z") for fact in facts]
        emit(table_text(("NAME", "ROLE", "CREATED"), rows))
    return Exit.DONE


@command.command("revoke")
@click.argument("name", type=TargetType())
def revoke(name: str) -> int:
    """Take NAME's token back: the next request with it is refused."""
    hosting().revoke_token(home_path(), name)
    say(f"the token of {name} is revoked")
    return Exit.DONE
