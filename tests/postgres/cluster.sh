# Keeps one throw-away PostgreSQL in a folder of its own: keep BIN [SETTING…].
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

trap 'exit 1' HUP INT TERM
trap 'server -m immediate stop; rm -rf "$folder"' EXIT

# A language's order of letters where there is one: most databases have one, and nothing may lean on the order of bytes.
answer eval 'initdb --locale-provider=icu --icu-locale=en-US || initdb'
printf '%s\n' "listen_addresses = '127.0.0.1'" "unix_socket_directories = ''" "$@" >>"$data/postgresql.conf"

while read -r word port; do
    case $word in
    start) answer server -l "$log" -o "-p $port" start ;;
    stop) answer server -m immediate stop ;;
    esac
done
