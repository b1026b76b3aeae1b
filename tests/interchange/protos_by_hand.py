#!/usr/bin/env python3
"""Reads exports by the public .proto files, and compares totals with the pprof export's.

Not run by CI: it needs those files (a clone of github.com/open-telemetry/opentelemetry-proto, or of
github.com/google/perfetto), protobuf-compiler, python3-protobuf and golang.

    tests/interchange/protos_by_hand.py otlp ALLOMON CLONE PROFILE...
    tests/interchange/protos_by_hand.py perfetto ALLOMON CLONE PROFILE...
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


def export(allomon, profile, folder, name):
    path = os.path.join(folder, "out." + name)
    subprocess.run([allomon, "export", "--format=" + name, "-o", path, profile], check=True)
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


def main():
    checks = {"otlp": check_otlp, "perfetto": check_perfetto}
    if len(sys.argv) < 5 or sys.argv[1] not in checks:
        sys.exit(__doc__)
    name, allomon, clone, *profiles = sys.argv[1:]
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for profile in profiles:
            facts = checks[name](allomon, clone, folder, profile)
            print(profile, facts)
            good &= all(facts.values())
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
