#!/bin/bash
# runs: long not:wine
# A client of Prometheus reads the output of examples/metrics over the network, with the OpenMetrics parser and with the one
# for Prometheus's format. promtool finds nothing to complain about, where it is installed.
# Usage: metrics.sh PROGRAM
set -euo pipefail
python=/usr/bin/python3
"$python" -c "import prometheus_client" 2> /dev/null || { echo "skipped: python3-prometheus-client is missing"; exit 77; }
exec 3< <(exec ${EMULATOR:-} "$1" 0)
server=$!
folder=$(mktemp -d)
trap 'kill "$server"; rm -rf "$folder"' EXIT
read -r url <&3
"$python" - "$url" "$folder/metrics" <<'END'
import sys
import urllib.request
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
from prometheus_client.parser import text_string_to_metric_families as plain_parse

request = urllib.request.Request(sys.argv[1], headers={"Accept": "application/openmetrics-text; version=1.0.0"})
for _ in range(3):
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.headers["Content-Type"].startswith("application/openmetrics-text"), answer.headers
        families = {family.name: family for family in parse(answer.read().decode())}
prefix = "db_client_connection_"
counts = {s.labels["state"]: s.value for s in families[prefix + "count"].samples}
assert counts == {"used": 1, "idle": 1}, counts
assert families[prefix + "max"].samples[0].value == 8
assert families[prefix + "max"].samples[0].labels == {prefix + "pool_name": "links"}
assert families[prefix + "pending_requests"].samples[0].value == 0
assert families[prefix + "timeouts"].type == "counter"
for name, count in {"borrows": 2, "creates": 2, "create_failures": 0, "full": 0, "failed": 0, "leaks": 0,
                    "detached": 0}.items():
    family = families["kolk_resource_" + name]
    assert family.type == "counter" and family.documentation[-1] == ".", family
    assert [(s.name, s.labels, s.value) for s in family.samples] == \
        [("kolk_resource_" + name + "_total", {"pool": "links"}, count)], family
destroyed = families["kolk_resource_destroyed"]
assert destroyed.type == "counter" and {s.name for s in destroyed.samples} == {"kolk_resource_destroyed_total"}
assert {s.labels["cause"]: s.value for s in destroyed.samples} == dict.fromkeys(
    "discarded invalid unclean expired unused evicted replaced closed".split(), 0), destroyed
for name, count in ("wait_time", 2), ("use_time", 1), ("create_time", 2):
    family = families[prefix + name + "_seconds"]
    assert family.type == "histogram" and family.unit == "seconds", family
    by_name = {s.name[len(family.name):]: s.value for s in family.samples}  # the last bucket is +Inf
    assert by_name["_count"] == by_name["_bucket"] == count, family
    buckets = [s.value for s in family.samples if s.name.endswith("_bucket")]
    assert buckets == sorted(buckets) and len(buckets) == 11, buckets

with urllib.request.urlopen(sys.argv[1], timeout=30) as answer:
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4"), answer.headers
    text = answer.read().decode()
plain = {family.name: family for family in plain_parse(text)}
renamed = {prefix + "count": "db_client_connections"}
for name, family in families.items():
    other = plain[renamed.get(name, name)]
    assert other.type == family.type and other.documentation == family.documentation, (family, other)
    assert len(other.samples) == len(family.samples), (family, other)
print("read:", len(families), "families, twice")
open(sys.argv[2], "w").write(text)
END
if command -v promtool > /dev/null; then
  promtool check metrics < "$folder/metrics" || { echo "promtool complains"; exit 1; }
else
  echo "left out: promtool is missing"
fi
