# Short names for the commands of CONTRIBUTING.md. `just` alone lists them.

[private]
default:
    @just --list --unsorted

# Run the server on a SQLite file in the user's data folder, and print how to use it.
run *ARGS:
    cargo run --release -- {{ARGS}}

# Format, lint, and read the source for the rules of the house: before every commit.
check:
    cargo fmt --all
    cargo clippy --locked --all-targets -- -D warnings
    cargo test --locked --quiet --test tidy

# Test one suite on SQLite, or in memory if it needs no database: `just test domain`, `just test api faults`.
test SUITE *FILTER:
    {{ if SUITE == "unit" { "cargo test --locked --lib" } else { "CSCP_TEST_DATABASE=sqlite cargo test --locked --test " + SUITE } }} -- {{FILTER}}

# The same suite on PostgreSQL, which the tests start themselves: `just pg storage claims`.
pg SUITE *FILTER:
    CSCP_REQUIRE_POSTGRES=1 CSCP_TEST_DATABASE=postgres cargo test --locked --test {{SUITE}} -- {{FILTER}}

# All tests on both databases: the README's command.
test-all:
    cargo test --locked

# Hold the running server against openapi.yaml with generated requests.
contract:
    cargo build --locked --bin cscp
    .ci/contract

# Make clients from openapi.yaml with four generators, and compile them.
clients:
    .ci/clients

# Play the example bots' script against the server (after `just clients`, which installs the compiler).
bots:
    cargo build --locked --bin cscp
    .ci/bots

# Compare with a hand-written transaction per message, both databases, sides in turns.
bench *ARGS:
    cargo bench --locked --bench baseline -- {{ARGS}}

# Every check that a change must pass, as CI runs it.
gate:
    bash .ci/run
