"""The files of ``config/applications``: how an application is started, and its figure of merit."""

import string
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from analysis.base.models import Line, Maybe, Model, Name, Positive, Variable
from analysis.base.words import Level


def _template(text: str) -> str:
    if not string.Template(text).is_valid():
        told = {
            "what": "a dollar sign that stands for nothing",
            "remedy": "write ${name}, and $$ for a dollar sign",
        }
        raise PydanticCustomError("template", "-", told)
    return text


Arguments = Annotated[
    list[Annotated[Line, AfterValidator(_template)]],
    Field(description="a list of arguments; ${name} is replaced, $$ is a dollar sign"),
]

Files = dict[Name, Annotated[str, AfterValidator(_template)]]


class Result(Model):
    """The file (a pattern like out*.txt) and a text that it contains after a good run."""

    file: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_*][A-Za-z0-9._*-]*$")] = Field(
        description="a file name, in which * stands for anything"
    )
    text: Annotated[str, StringConstraints(min_length=3)]
    ranks: Annotated[str, StringConstraints(pattern=r"^[^$]*\$\{ranks\}[^$]*$")] = Field(
        "", description="a text with ${ranks} that the file also contains if all ranks were one job"
    )


class NamedIn(Model):
    """A file of the inputs in which a line begins with a word and names the program."""

    file: str
    word: str


class FolderBeside(Model):
    """A variable that names a folder of the installation: what it holds, and where it is from the program."""

    variable: Variable
    holds: str = Field(description="a file in the folder, by which it is known")
    places: list[str] = Field(["."], description="where it is from a folder above the program")


class CaseValues(Model, extra="allow"):
    """Names for ${...}; local_size and target_time go into the record."""

    __pydantic_extra__: dict[Annotated[str, StringConstraints(pattern="^[a-z][a-z0-9_]*$")], Level]
    local_size: Maybe[Annotated[int, Field(ge=1)]] = None
    target_time: Maybe[Annotated[int, Field(gt=0)] | Positive] = None

    @property
    def given(self) -> dict[str, Level]:
        """Name -> value."""
        return self.model_dump(exclude_unset=True)


class Case(Model):
    """A case of an application: what it is run with."""

    seconds: Maybe[Positive] = Field(None, description="how long a run takes, for the plan")
    arguments: Arguments = Field([])
    files: Files = Field({}, description="further input files of this case")
    values: CaseValues = Field({}, validate_default=True)
    inputs: dict[Name, Annotated[str, StringConstraints(pattern="^([0-9a-f]{64})?$")]] = Field(
        {},
        description="input files with their SHA-256, which may be empty; ${input} is the path of the first",
    )


class ApplicationLaunch(Model):
    """How the application is run; which program that is, the cluster's file says."""

    arguments: Arguments
    threads: bool = Field(False, description="whether a rank can have more than one thread")
    thread_arguments: Arguments = Field(
        [], description="arguments that are added where a rank has more than one thread"
    )
    forward: list[Variable] = Field(
        [], description="variables that ranks take from the job's environment and nobody writes down"
    )
    link_inputs: bool = Field(
        False, description="true if the content of the folder of inputs has to lie in the working directory"
    )
    preload: bool = Field(True, description="false if no profiler can be preloaded")
    result: Result
    programs: list[str] = Field(
        [],
        description="what the program is called in PATH, for new-campaign: the first that is there is taken",
    )
    named_in: Maybe[NamedIn] = Field(
        None, description="the input that names the program, such as OpenFOAM's system/controlDict"
    )
    folder: Maybe[FolderBeside] = Field(
        None, description="for new-campaign: the folder that the program looks for by a variable"
    )
    files: Files = Field(
        {}, description="input files that are written for each run, name and content with ${...}"
    )
    cases: Annotated[dict[Name, Case], Field(min_length=1)]


class Application(Model):
    """An application and its figure of merit."""

    title: str
    engine: str = Field(
        description="the reader of its result file; empty if none reads it, for times and profiles alone"
    )
    figure_of_merit: str = Field(description="a variable of that reader's dataset or empty")
    unit: str = Field(description="unit of the figure of merit")
    higher_is_better: bool
    fixed_time: bool = Field(
        description="true if the run length is an input: it is then not a time to solution"
    )
    options: dict[str, str] = Field(
        {}, description="numeric factor -> option of the program that sets it, such as --nx=${value}"
    )
    launch: Maybe[ApplicationLaunch] = None
