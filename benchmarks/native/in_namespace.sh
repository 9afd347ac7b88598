#!/bin/sh
# Stands in for ssh where mpiexec starts a rank's host: leaves out options, and runs the command in the namespace that
# SSTEP_NAMESPACES (HOST=NAMESPACE ...) has for the host.
while [ "${1#-}" != "$1" ]; do shift; done
host=$1
shift
for pair in $SSTEP_NAMESPACES; do
    if [ "${pair%%=*}" = "$host" ]; then exec ip netns exec "${pair#*=}" sh -c "$*"; fi
done
echo "in_namespace.sh: no namespace for host $host" >&2
exit 1
