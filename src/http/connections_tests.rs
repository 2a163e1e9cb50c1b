//! Who gives way when there is no place, and when a connection ends.

use super::*;

const SHORT: Duration = Duration::ZERO;
const LONG: Duration = Duration::from_mins(10);

fn address(last: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, last])
}

fn names(all: &Connections) -> Vec<u64> {
    let mut names: Vec<u64> = all.open().by_name.keys().copied().collect();
    names.sort_unstable();
    names
}

fn patience(head: Duration, idle: Duration, taking: Duration) -> Patience {
    Patience { head, idle, taking }
}

#[test]
fn at_the_limit_of_an_address_its_own_longest_waiting_one_gives_way() {
    let all = Arc::new(Connections::new(10, 3));
    let stranger = all.take(0, address(1)).unwrap();
    let own: Vec<Taken> = (1..4).map(|name| all.take(name, address(2)).unwrap()).collect();
    // The first is being answered, the second has been answered before, the third never asked.
    let working = own[0].pulse.work();
    drop(own[1].pulse.work());
    let fourth = all.take(4, address(2)).unwrap();
    assert_eq!(names(&all), [0, 1, 2, 4], "who never asked goes before who did");
    own[2].pulse.heard();
    assert_eq!(own[2].pulse.ends(&patience(LONG, LONG, LONG), false).unwrap().1, Ending::GaveWay);
    let busy = fourth.pulse.work();
    let fifth = all.take(5, address(2)).unwrap();
    assert_eq!(names(&all), [0, 1, 4, 5], "then who waits between two requests");
    let busy_too = fifth.pulse.work();
    assert!(all.take(6, address(2)).is_none(), "nobody gives way who is being answered");
    assert_eq!(all.open().by_address[&address(1)], 1, "and nobody of another address");
    drop((working, busy, busy_too, stranger, own, fourth, fifth));
    assert!(all.open().by_name.is_empty() && all.open().by_address.is_empty());
}

#[test]
fn at_the_limit_of_all_the_address_gives_way_that_has_most_waiting() {
    let all = Arc::new(Connections::new(5, 5));
    let quiet: Vec<Taken> = (0..2).map(|name| all.take(name, address(1)).unwrap()).collect();
    let crowd: Vec<Taken> = (2..5).map(|name| all.take(name, address(2)).unwrap()).collect();
    let newcomer = all.take(9, address(3)).unwrap();
    assert_eq!(names(&all), [0, 1, 3, 4, 9]);
    let working: Vec<Working> =
        quiet.iter().chain(&crowd[1..]).chain([&newcomer]).map(|taken| taken.pulse.work()).collect();
    assert!(all.take(10, address(3)).is_none());
    drop(working);
    assert!(all.let_one_go());
    assert_eq!(all.open().by_name.len(), 4);
}

#[test]
fn what_ends_depends_on_what_a_connection_does() {
    let pulse = Arc::new(Pulse::new(address(1)));
    let why = |limits: Patience| pulse.ends(&limits, false).map(|(at, why)| (at <= Instant::now(), why));
    let slow_head = patience(SHORT, LONG, LONG);
    assert_eq!(why(slow_head), Some((true, Ending::SlowHead)), "the first head is waited for from the start");
    let began = pulse.state().since;
    pulse.heard();
    assert_eq!(pulse.state().since, began, "and its first byte does not make that longer");
    let working = pulse.work();
    assert_eq!(why(patience(SHORT, SHORT, LONG)), None, "whoever waits for an answer is not hurried");
    pulse.stuck(true);
    assert_eq!(why(patience(SHORT, SHORT, SHORT)), Some((true, Ending::NotTaken)));
    pulse.stuck(false);
    drop(working);
    assert_eq!(why(patience(SHORT, SHORT, LONG)), Some((true, Ending::Idle)));
    assert_eq!(why(patience(SHORT, LONG, LONG)), Some((false, Ending::Idle)));
    let idle_since = pulse.state().since;
    pulse.heard();
    assert!(pulse.state().since >= idle_since);
    assert_eq!(why(slow_head), Some((true, Ending::SlowHead)), "a later head is waited for from its first byte");
    assert!(pulse.ends(&patience(LONG, SHORT, LONG), true).is_some_and(|(_, why)| why == Ending::SlowHead));
}

#[test]
fn with_ipv6_a_network_counts_as_one_address() {
    let same = |one: &str, other: &str| counted_for(one.parse().unwrap()) == counted_for(other.parse().unwrap());
    assert!(same("2001:db8:1:2:3::1", "2001:db8:1:2:ffff::9"));
    assert!(!same("2001:db8:1:2::1", "2001:db8:1:3::1"));
    assert!(same("::ffff:10.0.0.1", "10.0.0.1") && !same("10.0.0.1", "10.0.0.2"));
}
