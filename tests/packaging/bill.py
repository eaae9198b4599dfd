"""Is this a bill of materials as SPDX 2.3 wants it, and are its files those beside it? Usage: bill.py FOLDER VERSION"""

import hashlib
import json
import re
import sys

folder, version = sys.argv[1:]
with open(f"{folder}/kolk-{version}.spdx.json", encoding="utf-8") as file:
    bill = json.load(file)
assert bill["spdxVersion"] == "SPDX-2.3" and bill["dataLicense"] == "CC0-1.0" and bill["SPDXID"] == "SPDXRef-DOCUMENT"
assert re.fullmatch(r"urn:[^#\s]+", bill["documentNamespace"]) and bill["name"]
assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", bill["creationInfo"]["created"])
assert all(re.match("(Tool|Person|Organization): ", creator) for creator in bill["creationInfo"]["creators"])
[package] = bill["packages"]
assert package["versionInfo"] == version and package["licenseDeclared"] == "Zlib" and package["downloadLocation"]
with open("LICENSE", encoding="utf-8") as file:
    assert package["copyrightText"] in file.read().splitlines()
ids = {"SPDXRef-DOCUMENT", package["SPDXID"]}
sums = []
for each in bill["files"]:
    assert re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", each["SPDXID"]) and each["SPDXID"] not in ids
    ids.add(each["SPDXID"])
    with open(f"{folder}/{each['fileName']}", "rb") as file:
        data = file.read()
    told = {checksum["algorithm"]: checksum["checksumValue"] for checksum in each["checksums"]}
    assert told == {"SHA1": hashlib.sha1(data).hexdigest(), "SHA256": hashlib.sha256(data).hexdigest()}, each["fileName"]
    sums.append(told["SHA1"])
    if each["licenseInfoInFiles"] == ["Zlib"]:
        first, *others = data.splitlines()
        assert first == b"/* SPDX-License-%s: Zlib */" % b"Identifier", each["fileName"]
        assert not any(b"SPDX" in line for line in others), each["fileName"]
assert {each["fileName"] for each in bill["files"]} == {"./kolk.h", "./kolk.c", "./kolk.hpp", "./kolk_gta.hpp", f"./kolk-{version}.tar.gz"}
code = hashlib.sha1("".join(sorted(sums)).encode()).hexdigest()
assert package["packageVerificationCode"]["packageVerificationCodeValue"] == code
assert all(each["spdxElementId"] in ids and each["relatedSpdxElement"] in ids for each in bill["relationships"])
assert {each["relatedSpdxElement"] for each in bill["relationships"]} == ids - {"SPDXRef-DOCUMENT"}
