"""The parser of the command line: errors of one line with the nearest word, and types of arguments."""

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from analysis.base.words import meant

WRONG_USAGE = 2  # what a shell gets for words that no command takes
INTERNAL = "stage"  # the command that rules call, which no list names
_WRONG = re.compile(r"invalid choice: '(.*?)' \(choose from (.*)\)|unrecognized arguments: (-\S+)")
_LEFT = re.compile(r"unrecognized arguments: ([^ -]\S*)")


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line with the nearest word, and whose help has examples."""

    def __init__(self, *args: Any, examples: str = "", **options: Any) -> None:
        super().__init__(*args, **options)
        self.allow_abbrev = False  # a misspelt --writ must not write
        lines = "".join(f"\n  benchbook {line}" for line in examples.splitlines())
        self.epilog = lines and f"examples:{lines}"
        self.formatter_class = argparse.RawDescriptionHelpFormatter

    @property
    def names(self) -> list[str]:
        """Return the names of the commands."""
        return [name for one in self.commands() for name in one.choices]

    def commands(self) -> Iterator["argparse._SubParsersAction[Any]"]:
        """Yield argparse's actions that have the commands."""
        return (one for one in self._actions if isinstance(one, argparse._SubParsersAction))

    def error(self, message: str) -> NoReturn:
        """Print one line and exit with 2."""
        wrong, command = _WRONG.search(message), self._command()
        if wrong and wrong[3]:
            message = self._unknown(wrong[3])
        elif wrong:
            choices = [one for one in re.findall(r"[\w-]+", wrong[2]) if one != INTERNAL]
            meant = _nearest(wrong[1], choices)
            message = f"{wrong[1]!r} is unknown{meant}; choose from {', '.join(choices)}"
        elif left := _LEFT.search(message):
            message = self._left_over(left[1])
        elif "are required: " in message:
            message = self._lacking(message.partition("required: ")[2].split(", "))
        self.exit(WRONG_USAGE, f"{command.prog}: {message}; see {command.prog} --help\n")

    def _unknown(self, option: str) -> str:
        """Name the commands that have an option, or the nearest option."""
        option = option.partition("=")[0]
        if owners := self._with_option(option):
            return f"{option} is an option of {', '.join(owners)}"
        options = [one for one in self._command()._all_options() if one.startswith("--") and one != option]
        return f"unknown option {option}{_nearest(option, options)}"

    def _lacking(self, missing: Sequence[str]) -> str:
        """Name what was not given, and what may stand there; an unknown option is named before all."""
        options = self._all_options()
        for word in self._given:
            if word.startswith("--") and not any(one.startswith(word.partition("=")[0]) for one in options):
                return self._unknown(word)
        named = {}
        for one in self._actions:
            called = one.option_strings[-1] if one.option_strings else str(one.metavar or one.dest)
            words = getattr(one, "completer", list)() or (one.choices if called != "COMMAND" else None)
            named[called] = f"{called} ({', '.join(words)})" if words else called
        return f"lacks {', '.join(named.get(one, one) for one in missing)}"

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as argparse does, and keep the words, which errors name."""
        self._given = list(sys.argv[1:] if args is None else args)
        return super().parse_known_args(args, namespace)

    def _parse_optional(self, arg_string: str) -> Any:
        """Take a level such as ``-O3`` as the value that it is: long options have two dashes."""
        level = re.match(r"-[^-].", arg_string) and arg_string not in self._option_string_actions
        return None if level else super()._parse_optional(arg_string)

    def _left_over(self, word: str) -> str:
        """Say what to do with a word that no argument takes: name its option, or repeat the last one."""
        word = next((one for one in self._given if one == word or one.startswith(f"{word} ")), word)
        command = self._command()
        options = {one.option_strings[-1]: one for one in command._actions if one.option_strings}
        for name, one in options.items():
            if word in getattr(one, "completer", list)():
                return f"{word!r} has no option before it: write {name} {word}"
        before = self._given[: self._given.index(word)] if word in self._given else []
        last = next((name for name in reversed(before) if name in options), "")
        if isinstance(options.get(last), argparse._AppendAction):
            return f"{word!r} has no option before it: repeat it, as in {last} {before[-1]} {last} {word}"
        taken = ", ".join(str(one.metavar or one.dest) for one in command._actions if not one.option_strings)
        takes = f"takes {taken}" if taken else "takes options only"
        quotes = "" if " " in word else "; a name with spaces needs quotes"
        return f"{word!r} is one word too many: {command.prog} {takes}{quotes}"

    def _with_option(self, option: str) -> list[str]:
        """Return the commands that have an option."""
        commands = [pair for action in self.commands() for pair in action.choices.items()]
        return [name for name, one in commands if option in one._option_string_actions]

    def _command(self) -> "Parser":
        """Return the parser of the command that was given, this one if none was."""
        choices = {name: one for action in self.commands() for name, one in action.choices.items()}
        return next((choices[name] for name in getattr(self, "_given", ()) if name in choices), self)

    def _all_options(self) -> list[str]:
        """Return the options of this parser and of its commands."""
        own = list(self._option_string_actions)
        for action in self.commands():
            own += [name for one in action.choices.values() for name in one._option_string_actions]
        return own


def _nearest(word: str, words: Sequence[str]) -> str:
    near = meant(word, words)
    return f" ({near})" if near else ""


class Version(argparse.Action):
    """Prints the release: its look-up would slow every start."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        """Print it and exit with 0."""
        from analysis.base.project import version

        print(f"benchbook {version()}")
        parser.exit()


def margin(text: str) -> float:
    """Read a relative margin, ``5%`` or ``0.05``."""
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no margin between 0 and 100 %: write 5% or 0.05")
    return value


def count(text: str) -> int:
    """Read a count of 1 to 1,000,000."""
    if not text.isdecimal() or not 1 <= int(text) <= 1_000_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 1,000,000")
    return int(text)


def count_list(text: str) -> list[int]:
    """Read counts that commas separate."""
    return [count(one) for one in text.split(",")]


def name_list(text: str) -> list[str]:
    """Read names that commas separate."""
    return [one.strip() for one in text.split(",")]
