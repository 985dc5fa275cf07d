#!/bin/sh
# Slurm prolog: a node that fails the preflight takes no job.
# slurm.conf: Prolog=/etc/slurm/prolog.d/dsv4-doctor.sh
pyz=${DSV4_PYZ:-/opt/dsv4/dsv4-doctor.pyz}
arguments=${DSV4_ARGUMENTS:---for serve}
limit=${DSV4_LIMIT:-60}
reports=${DSV4_REPORTS:-/var/spool/dsv4-doctor}
node=${SLURMD_NODENAME:-$(hostname -s)}

mkdir -p "$reports" || exit 0
# shellcheck disable=SC2086 # the arguments are words
timeout "$limit" python3 "$pyz" check --format json --facts $arguments \
  >"$reports/$node.json.partial" 2>"$reports/$node.err"
status=$?
mv "$reports/$node.json.partial" "$reports/$node.json"

# 1 is a failed check. Anything else is no reason to lose the node: 3 could not be told, 124 took
# too long, 4 is a fault of the doctor.
[ "$status" -eq 1 ] || exit 0
failed=$(python3 -c 'import json, sys
report = json.load(open(sys.argv[1]))
print(" ".join(each["id"] for each in report["findings"] if each["status"] == "fail")[:200])' \
  "$reports/$node.json")
scontrol update "NodeName=$node" State=DRAIN "Reason=dsv4-doctor: $failed"
exit 0
