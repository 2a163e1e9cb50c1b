# Keeps one throw-away PostgreSQL in a folder of its own, and a standby of it where asked: keep BIN [SETTING…].
#
# It is told what to do on standard input and answers each line with one of its own. When its input ends, because
# whoever holds the other end is done or dead, it stops the server at once and removes the folder. So neither can
# outlive the test, however that ends.
bin=$1
shift
folder=$(mktemp -d "${TMPDIR:-/tmp}/cscp-postgres.XXXXXX" 2>/dev/null || mktemp -d /tmp/cscp-postgres.XXXXXX) || exit 1
data=$folder/data
log=$folder/log

server() { "$bin/pg_ctl" -D "$data" -s -w "$@" </dev/null >>"$log" 2>&1; }

initdb() { "$bin/initdb" -D "$data" --no-sync -A trust -U cscp -E UTF8 --locale=C "$@" </dev/null >>"$log" 2>&1; }

answer() {
    if "$@"; then
        echo done
    else
        echo "failed $(tail -n 6 "$log" | tr '\n' ' ')"
    fi
}

# A second server that follows the first one, under the name that the first one's settings may wait for.
standby=$folder/standby
follower() { "$bin/pg_ctl" -D "$standby" -s -w "$@" </dev/null >>"$log" 2>&1; }
copy() {
    # What stands in the path may be links to some of the programs only.
    programs=$(dirname "$(readlink -f "$bin/pg_ctl")")
    "$programs/pg_basebackup" -D "$standby" -R --no-sync -c fast -d "host=127.0.0.1 port=$1 user=cscp application_name=standby" \
        </dev/null >>"$log" 2>&1
}

# Everything stands still where it is, as on a machine that hangs, and goes on.
everybody() {
    first=$(head -n 1 "$data/postmaster.pid")
    kill -s "$1" "$first" $(ps -o pid= --ppid "$first")
}

trap 'exit 1' HUP INT TERM
trap 'everybody CONT 2>/dev/null; follower -m immediate stop; server -m immediate stop; rm -rf "$folder"' EXIT

# A language's order of letters where there is one: most databases have one, and nothing may lean on the order of bytes.
answer eval 'initdb --locale-provider=icu --icu-locale=en-US || initdb'
printf '%s\n' "listen_addresses = '127.0.0.1'" "unix_socket_directories = ''" "$@" >>"$data/postgresql.conf"

while read -r word port; do
    case $word in
    start) answer server -l "$log" -o "-p $port" start ;;
    stop) answer server -m immediate stop ;;
    freeze) answer everybody STOP ;;
    thaw) answer everybody CONT ;;
    copy) answer copy "$port" ;;
    follow) answer follower -l "$log" -o "-p $port" start ;;
    stay) answer follower -m immediate stop ;;
    promote) answer follower promote ;;
    esac
done
