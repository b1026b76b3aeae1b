#!/usr/bin/env python3
"""Reads exports by others' files and code, and compares totals with the pprof export's.

Not run by CI. The first two need public .proto files (a clone of
github.com/open-telemetry/opentelemetry-proto, or of github.com/google/perfetto),
protobuf-compiler, python3-protobuf and golang. The third needs Perfetto's trace processor,
built from its source (tools/export/README.md says how), and golang. It loads traces by Perfetto's
importer, of each profile and of all together.

    tests/interchange/protos_by_hand.py otlp ALLOMON CLONE PROFILE...
    tests/interchange/protos_by_hand.py perfetto ALLOMON CLONE PROFILE...
    tests/interchange/protos_by_hand.py importer ALLOMON SHELL PROFILE...
"""

import base64
import json
import os
import subprocess
import sys
import tempfile

SERVICE = "opentelemetry/proto/collector/profiles/v1development/profiles_service.proto"
MESSAGE = "opentelemetry.proto.collector.profiles.v1development.ExportProfilesServiceRequest"
FILE_MESSAGE = "opentelemetry.proto.profiles.v1development.ProfilesData"
TRACE = "protos/perfetto/trace/trace.proto"
TRACE_MESSAGE = "perfetto.protos.Trace"


def message_class(clone, folder, file, name):
    """By the file's descriptors: it may include files of which some contradict others."""
    from google.protobuf import descriptor_pb2, message_factory

    path = os.path.join(folder, "descriptors")
    subprocess.run(
        ["protoc", "-I", clone, "--include_imports", "--descriptor_set_out=" + path, file],
        check=True, stderr=subprocess.DEVNULL,
    )
    with open(path, "rb") as descriptors:
        files = descriptor_pb2.FileDescriptorSet.FromString(descriptors.read())
    return message_factory.GetMessages(files.file)[name]


def export(allomon, profiles, folder, name):
    path = os.path.join(folder, "out." + name)
    files = [profiles] if isinstance(profiles, str) else profiles
    subprocess.run([allomon, "export", "--format=" + name, "-o", path, *files], check=True)
    with open(path, "rb") as file:
        return file.read(), path


def has_unknown_fields(clone, data, file, message):
    out = subprocess.run(
        ["protoc", "-I", clone, "--decode=" + message, file],
        input=data, capture_output=True, check=True,
    ).stdout.decode()
    names = {line.strip().split(" ")[0].rstrip(":") for line in out.splitlines()}
    return any(name.isdigit() for name in names)


def otlp_totals(request):
    strings = request.dictionary.string_table
    totals = {}
    for profile in request.resource_profiles[0].scope_profiles[0].profiles:
        name = strings[profile.sample_type.type_strindex]
        totals[name] = sum(sum(sample.values) for sample in profile.samples)
    return totals


def pprof_totals(path):
    raw = subprocess.run(
        ["go", "tool", "pprof", "-raw", path], capture_output=True, check=True
    ).stdout.decode(errors="replace").splitlines()
    begin = raw.index("Samples:")
    names = [name.split("/")[0] for name in raw[begin + 1].split()]
    totals = dict.fromkeys(names, 0)
    for line in raw[begin + 2 : raw.index("Locations")]:
        values = line.split(":")[0].split()
        if len(values) == len(names) and all(value.lstrip("-").isdigit() for value in values):
            for name, value in zip(names, values):
                totals[name] += int(value)
    return totals


def of_json(text, request_class):
    """OTLP's JSON differs from protobuf's in the ids, which are hexadecimal."""
    from google.protobuf import json_format

    tree = json.loads(text)
    for link in tree["dictionary"]["linkTable"]:
        for key in link:
            link[key] = base64.b64encode(bytes.fromhex(link[key])).decode()
    return json_format.ParseDict(tree, request_class())


def check_otlp(allomon, clone, folder, profile):
    request_class = message_class(clone, folder, SERVICE, MESSAGE)
    data, _ = export(allomon, profile, folder, "otlp")
    request = request_class.FromString(data)
    text, _ = export(allomon, profile, folder, "otlp-json")
    _, pprof = export(allomon, profile, folder, "pprof")
    return {
        "no unknown fields": not any(
            has_unknown_fields(clone, data, SERVICE, message) for message in [MESSAGE, FILE_MESSAGE]
        ),
        "the JSON says the same": of_json(text, request_class) == request,
        "totals are pprof's": otlp_totals(request) == pprof_totals(pprof),
    }


def interned(trace):
    tables = {}
    for packet in trace.packet:
        for field, items in packet.interned_data.ListFields():
            tables.setdefault(field.name, {}).update({item.iid: item for item in items})
    return tables


def frames_are_there(trace):
    tables = interned(trace)
    return all(
        frame.mapping_id in tables["mappings"]
        and frame.function_name_id in tables["function_names"]
        for packet in trace.packet
        for dump in packet.profile_packet.process_dumps
        for sample in dump.samples
        for frame in (
            tables["frames"][iid] for iid in tables["callstacks"][sample.callstack_id].frame_ids
        )
    )


def perfetto_totals(trace):
    totals = {}
    for packet in trace.packet:
        for dump in packet.profile_packet.process_dumps:
            heap = dump.heap_name.removeprefix("libc.malloc").strip(" ()")
            for sample in dump.samples:
                for name, space, count in (
                    ("alloc", sample.self_allocated, sample.alloc_count),
                    ("inuse", sample.self_allocated - sample.self_freed,
                     sample.alloc_count - sample.free_count),
                ) if heap == "" else ((heap, sample.self_max, sample.self_max_count),):
                    for kind, value in (("_space", space), ("_objects", count)):
                        totals[name + kind] = totals.get(name + kind, 0) + value
    return totals


def check_perfetto(allomon, clone, folder, profile):
    data, _ = export(allomon, profile, folder, "perfetto")
    trace = message_class(clone, folder, TRACE, TRACE_MESSAGE).FromString(data)
    _, pprof = export(allomon, profile, folder, "pprof")
    return {
        "no unknown fields": not has_unknown_fields(clone, data, TRACE, TRACE_MESSAGE),
        "what samples refer to is there": frames_are_there(trace),
        "totals are pprof's": perfetto_totals(trace) == pprof_totals(pprof),
    }


# Names are asked for by their bytes, because the shell escapes nothing.
ERRORS = """
select name, coalesce(idx, -1), value from stats
where value > 0 and severity in ('error', 'data_loss')"""
ROWS = """
select hex(heap_name), pid, callsite_id, ts, size, count
from heap_profile_allocation join process using (upid)"""
CALLSITES = """
select c.id, coalesce(c.parent_id, -1), hex(f.name)
from stack_profile_callsite c join stack_profile_frame f on f.id = c.frame_id"""
COUNTER = """
select count(*), cast(coalesce(sum(value), 0) as int) from counter c join track t
on t.id = c.track_id where t.name = 'live memory, as estimated'"""


class Imported:
    """What Perfetto's importer has made of a trace."""

    def __init__(self, shell, trace, folder):
        self.shell, self.trace, self.folder = shell, trace, folder
        self.errors = self.ask(ERRORS)
        self.rows = [
            (self.text(heap), *map(int, numbers)) for heap, *numbers in self.ask(ROWS)
        ]
        self.counter = tuple(int(number) for number in self.ask(COUNTER)[0])
        callsites = {int(i): (int(parent), name) for i, parent, name in self.ask(CALLSITES)}
        self.stacks = {i: self.stack_of(i, callsites) for i in callsites}

    def ask(self, query):
        path = os.path.join(self.folder, "query.sql")
        with open(path, "w", encoding="utf-8") as file:
            file.write(query + ";\n")
        out = subprocess.run(
            [self.shell, "-q", path, self.trace], capture_output=True, check=True
        ).stdout.decode()
        lines = [line for line in out.splitlines() if line]
        return [[cell.strip('"') for cell in line.split(",")] for line in lines[1:]]

    @staticmethod
    def text(hexadecimal):
        return bytes.fromhex(hexadecimal).decode(errors="replace")

    def stack_of(self, callsite, callsites):
        """Outermost first."""
        names = []
        while callsite != -1:
            callsite, name = callsites[callsite]
            names.append(self.text(name))
        return tuple(reversed(names))

    def totals(self, until=None, pid=None):
        """By pprof's names; of heapprofd's heap alone if `pid` is given."""
        totals = {}
        for heap, of_pid, _, ts, size, count in self.rows:
            if pid not in (None, of_pid) or (until is not None and ts > until):
                continue
            heap = heap.removeprefix("libc.malloc").strip(" ()")
            if heap != "" and pid is not None:
                continue
            for kind, value in (("_space", size), ("_objects", count)):
                if heap == "":
                    totals["inuse" + kind] = totals.get("inuse" + kind, 0) + value
                name = (heap or "alloc") + kind
                totals[name] = totals.get(name, 0) + max(value, 0)
        return totals

    def bytes_of_stacks(self):
        """Stacks that allocated: what they allocated, and what is live."""
        stacks = {}
        for heap, _, callsite, _, size, _ in self.rows:
            if heap == "libc.malloc":
                both = stacks.setdefault(self.stacks[callsite], [0, 0])
                both[0] += max(size, 0)
                both[1] += size
        return stacks


def stack_names(tree, sample):
    """Outermost first, as an export for Perfetto has them."""
    names = []
    for number in reversed(sample["stack"]):
        for line in reversed(tree["locations"][number]["lines"] or [None]):
            name = tree["functions"][line["function"]]["name"] if line else ""
            names.append(name or None)  # None: any text, made of the address
    return tuple(names) or ("[no stack]",)


def same_stacks(tree, imported):
    """Each sample is rounded, so that a stack of n of them may be off by n."""
    ours = {}
    for sample in tree["samples"]:
        names = stack_names(tree, sample)
        row = ours.setdefault(names, [0, 0, 0])
        row[0] += sample["alloc"]["bytes"]
        row[1] += sample["live"]["bytes"]
        row[2] += 1
    theirs = {}
    named = {name for names in ours for name in names}
    for names, row in imported.bytes_of_stacks().items():
        key = tuple(name if name in named else None for name in names)
        theirs[key] = [a + b for a, b in zip(row, theirs.get(key, [0, 0]))]
    return all(
        abs(row[i] - theirs.get(names, [0, 0])[i]) <= row[2]
        for names, row in ours.items() for i in (0, 1)
    ) and set(theirs) <= set(ours)


def load_tree(allomon, profile, folder):
    return json.loads(export(allomon, profile, folder, "json")[0])


def check_importer(allomon, shell, folder, profile):
    _, trace = export(allomon, profile, folder, "perfetto")
    imported = Imported(shell, trace, folder)
    _, pprof = export(allomon, profile, folder, "pprof")
    expected = {name: value for name, value in pprof_totals(pprof).items() if value}
    shown = {name: value for name, value in imported.totals().items() if value}
    print(shown, f"{len(imported.bytes_of_stacks())} stacks, {imported.counter[0]} points")
    tree = load_tree(allomon, profile, folder)
    points = [point["live_bytes"] for point in tree["timeline"]]
    return {
        "no error": imported.errors == [],
        "totals are pprof's": shown == expected,
        "stacks are the JSON's": same_stacks(tree, imported),
        "the counter is the timeline": imported.counter[0] == len(points)
        and abs(imported.counter[1] - sum(points)) <= len(points),
    }


def check_series(allomon, shell, folder, profiles):
    """At the end of each profile, what its process has done until then is what the profile says."""
    _, trace = export(allomon, profiles, folder, "perfetto")
    imported = Imported(shell, trace, folder)
    are_same = []
    for profile in profiles:
        tree = load_tree(allomon, profile, folder)
        end = tree["start_unix_nanos"] + round(tree["duration_seconds"] * 1e9) + 1000
        _, pprof = export(allomon, profile, folder, "pprof")
        expected = pprof_totals(pprof)
        shown = imported.totals(end, tree["pid"])
        are_same.append(all(shown[name] == expected[name] for name in shown) and shown != {})
    dumps = {(pid, ts) for heap, pid, _, ts, _, _ in imported.rows if heap == "libc.malloc"}
    print(f"{len(dumps)} dumps of {len({pid for pid, _ in dumps})} processes")
    return {
        "no error": imported.errors == [],
        "each dump's totals are pprof's": all(are_same),
        "as many dumps as files": len(dumps) == len(profiles),
    }


def main():
    checks = {"otlp": check_otlp, "perfetto": check_perfetto, "importer": check_importer}
    if len(sys.argv) < 5 or sys.argv[1] not in checks:
        sys.exit(__doc__)
    name, allomon, clone, *profiles = sys.argv[1:]
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for profile in profiles:
            facts = checks[name](allomon, clone, folder, profile)
            print(profile, facts)
            good &= all(facts.values())
        if name == "importer" and len(profiles) > 1:
            facts = check_series(allomon, clone, folder, profiles)
            print("all together", facts)
            good &= all(facts.values())
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
