"""What a campaign found: lines for the terminal, tables for README.md."""

import dataclasses
import datetime
import os
import platform


@dataclasses.dataclass
class Result:
    """One program in one mode."""

    program: str
    mode: str
    seconds: float
    wrong: list = dataclasses.field(default_factory=list)
    n_profiles: int = 0
    top: str = ""
    memory: tuple = None

    def text(self):
        verdict = "DIFFERENT" if self.wrong else "same"
        profiles = f", {self.n_profiles} profiles" if self.n_profiles else ""
        lines = [f"{self.program:10} {self.mode:>6}  {verdict}, {self.seconds:.1f} s{profiles}"
                 f"{describe(self.memory)}"]
        if self.top:
            lines.append(f"{'':18} {self.top}")
        return "\n".join(lines + [f"{'':18} {it}" for it in self.wrong])


def describe(memory):
    if not memory:
        return ""
    (early, late), (few, many) = memory
    return f"; resident {early / 2**20:.1f} to {late / 2**20:.1f} MiB, mappings {few} to {many}"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def cell(result):
    if result is None:
        return ""
    return f"**differs** {result.seconds:.1f} s" if result.wrong else f"{result.seconds:.1f} s"


def literally(lines):
    """What programs said: no names of ours."""
    return "\n".join(["```", *(line.replace("```", "") for line in lines), "```", ""])


def machine():
    with open("/etc/os-release", encoding="utf-8") as file:
        system = dict(line.strip().split("=", 1) for line in file if "=" in line)
    name = f"{system['NAME']} {system.get('VERSION_ID', '')}".replace('"', "").strip()
    return (f"{datetime.date.today()}, {name}, Linux {platform.release().split('-')[0]}, "
            f"{os.cpu_count()} processors")


def markdown(results, versions, modes, how):
    """The part of README.md behind its heading "Results".  `how` says what the options were."""
    programs = list(dict.fromkeys(it.program for it in results))
    found = {(it.program, it.mode): it for it in results}
    names = [mode.name for mode in modes]
    first = table(
        ["program", "version", "plain", *names, "profiles"],
        [
            [it, versions.get(it, ""), cell(found.get((it, "plain")))]
            + [cell(found.get((it, name))) for name in names]
            + [str(sum(found[it, name].n_profiles for name in names if (it, name) in found))]
            for it in programs
        ],
    )
    tops = [f"{it.program:10} {it.mode:6} {it.top}" for it in results if it.top]
    wrong = [
        f"{it.program:10} {it.mode:6} {line[:300]}" for it in results for line in it.wrong
    ]
    memory = [f"- {it.program}, {it.mode}{describe(it.memory)}" for it in results if it.memory]
    parts = [
        f"{machine()};\n{how}.\n"
        "Seconds are those of a busy machine, and no measurement of cost:\n"
        "[benchmarks](../../benchmarks/README.md#8-beside-other-profilers) has those.\n",
        first,
    ]
    parts += ["What differed:\n", literally(wrong)] if wrong else []
    parts += ["Servers under load:\n\n" + "\n".join(memory) + "\n"] if memory else []
    parts += ["The first row of the report of the process that had most, by mode:\n"]
    parts += [literally(tops)]
    return "\n".join(parts)


def write_into(path, text):
    """Replaces what is behind the line `## Results` of a document."""
    with open(path, encoding="utf-8") as file:
        before = file.read().split("## Results\n")[0]
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{before}## Results\n\n{text}")
