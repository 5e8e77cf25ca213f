#!/bin/sh
# Checks with their own tools what cannot be run here: the systemd unit, and the Helm chart.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
cd "$root"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# systemd-analyze wants the program that the unit names.
printf '#!/bin/sh\n' > "$work/harness"
chmod 755 "$work/harness"
sed "s|/usr/local/bin/harness|$work/harness|" deploy/harness.service > "$work/harness.service"
if command -v systemd-analyze > /dev/null; then
	# It speaks of units of this machine, too: only what it says of ours counts.
	systemd-analyze verify --man=no "$work/harness.service" > "$work/said" 2>&1 || true
	if grep harness.service "$work/said"; then exit 1; fi
	echo "the unit is sound"
else
	echo "systemd-analyze is not here: the unit was not checked" >&2
	exit 1
fi

helm=$(scripts/tool.sh chart helm.sh/helm/v3 cmd/helm)
"$helm" lint --strict --set auth.existingSecret=token deploy/chart
"$helm" template harness --kube-version 1.31.0 deploy/chart --set auth.existingSecret=token > /dev/null
"$helm" template harness --kube-version 1.31.0 deploy/chart --set auth.existingSecret=token,database.existingSecret=db,replicas=3,ingress.enabled=true > /dev/null
if "$helm" template harness --kube-version 1.31.0 deploy/chart --set auth.existingSecret=token,replicas=2 > /dev/null 2>&1; then
	echo "several servers without Postgres were not refused" >&2
	exit 1
fi
echo "the chart is sound"
