#!/usr/bin/env python3
"""Reads OTLP exports by the public .proto files, and compares totals with the pprof export's.

Not run by CI: it needs those files (a clone of github.com/open-telemetry/opentelemetry-proto),
protobuf-compiler, python3-protobuf and golang.

    tests/interchange/otlp_by_hand.py ALLOMON CLONE PROFILE...
"""

import base64
import importlib
import json
import os
import subprocess
import sys
import tempfile

SERVICE = "opentelemetry/proto/collector/profiles/v1development/profiles_service.proto"
MESSAGE = "opentelemetry.proto.collector.profiles.v1development.ExportProfilesServiceRequest"
FILE_MESSAGE = "opentelemetry.proto.profiles.v1development.ProfilesData"


def message_class(clone, folder):
    files = []
    for where, _, names in os.walk(os.path.join(clone, "opentelemetry/proto")):
        files += [os.path.join(where, name) for name in names if name.endswith(".proto")]
    subprocess.run(["protoc", "-I", clone, "--python_out=" + folder] + files, check=True)
    sys.path.insert(0, folder)
    return importlib.import_module(SERVICE.removesuffix(".proto").replace("/", ".") + "_pb2")


def export(allomon, profile, folder, name):
    path = os.path.join(folder, "out." + name)
    subprocess.run([allomon, "export", "--format=" + name, "-o", path, profile], check=True)
    with open(path, "rb") as file:
        return file.read(), path


def has_unknown_fields(clone, data, message):
    out = subprocess.run(
        ["protoc", "-I", clone, "--decode=" + message, SERVICE],
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


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    allomon, clone, *profiles = sys.argv[1:]
    good = True
    with tempfile.TemporaryDirectory() as folder:
        request_class = getattr(message_class(clone, folder), MESSAGE.rsplit(".", maxsplit=1)[1])
        for profile in profiles:
            data, _ = export(allomon, profile, folder, "otlp")
            request = request_class.FromString(data)
            text, _ = export(allomon, profile, folder, "otlp-json")
            _, pprof = export(allomon, profile, folder, "pprof")
            facts = {
                "no unknown fields": not any(
                    has_unknown_fields(clone, data, message) for message in [MESSAGE, FILE_MESSAGE]
                ),
                "the JSON says the same": of_json(text, request_class) == request,
                "totals are pprof's": otlp_totals(request) == pprof_totals(pprof),
            }
            print(profile, len(data), "bytes", otlp_totals(request), facts)
            good &= all(facts.values())
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
