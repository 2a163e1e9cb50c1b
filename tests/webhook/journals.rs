//! The journal: what it says after every way in which a process can end.

use std::fs;
use std::path::Path;

use crate::journal::{Intent, Journal};

fn intent(number: u32) -> Intent {
    Intent {
        command_id: format!("cmd_{number}"),
        context_id: "ctx_1".to_owned(),
        order_id: "123".to_owned(),
        attempt_id: format!("attempt_{number}"),
    }
}

/// Opens a journal that nobody holds. A program that another test starts at this moment holds every open file until it
/// has begun, locks included, so an attempt may come too early.
pub(crate) fn opened(path: &Path) -> Journal {
    let mut attempts = 0_u32;
    loop {
        match Journal::open(path) {
            Ok(journal) => return journal,
            Err(error) => assert!(attempts < 100_000, "{error}"),
        }
        attempts += 1;
        std::thread::yield_now();
    }
}

#[tokio::test]
async fn what_was_written_is_there_for_the_next_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/journal.jsonl");
    let journal = opened(&path);
    journal.intend(intent(1)).await.unwrap();
    journal.intend(intent(2)).await.unwrap();
    journal.end("cmd_1", false).await.unwrap();
    journal.intend(Intent { attempt_id: "another".to_owned(), ..intent(2) }).await.unwrap();
    drop(journal);
    let journal = opened(&path);
    assert_eq!(journal.find("cmd_1").map(|noted| (noted.intent, noted.succeeded)), Some((intent(1), Some(false))));
    assert_eq!(journal.find("cmd_2").unwrap().intent.attempt_id, "another", "the newest attempt counts");
    assert_eq!(journal.find("cmd_2").unwrap().succeeded, None);
    assert_eq!(journal.find("cmd_3"), None);
}

#[tokio::test]
async fn a_line_that_was_cut_short_is_cut_off_wherever_the_cut_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.jsonl");
    let journal = opened(&path);
    journal.intend(intent(1)).await.unwrap();
    let first = fs::metadata(&path).unwrap().len();
    journal.end("cmd_1", true).await.unwrap();
    drop(journal);
    let whole = fs::read(&path).unwrap();
    for cut in usize::try_from(first).unwrap()..whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        let journal = opened(&path);
        assert_eq!(journal.find("cmd_1").unwrap().succeeded, None, "cut at {cut}");
        journal.intend(intent(2)).await.unwrap();
        drop(journal);
        let journal = opened(&path);
        assert_eq!(journal.find("cmd_2").unwrap().intent, intent(2), "cut at {cut}: the next line is whole");
    }
}

#[test]
fn a_journal_that_cannot_be_read_is_not_begun_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.jsonl");
    fs::write(&path, "{\"step\":\"of_tomorrow\"}\n").unwrap();
    assert!(Journal::open(&path).is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"step\":\"of_tomorrow\"}\n");
}

#[test]
fn two_processes_do_not_share_a_journal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.jsonl");
    let one = opened(&path);
    assert!(Journal::open(&path).is_err());
    drop(one);
    drop(opened(&path));
}

#[tokio::test]
async fn a_long_journal_is_emptied_only_when_nothing_in_it_is_unfinished() {
    for unfinished in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.jsonl");
        let journal = opened(&path);
        journal.intend(intent(1)).await.unwrap();
        journal.end("cmd_1", true).await.unwrap();
        drop(journal);
        let ended = fs::read_to_string(&path).unwrap();
        let mut long = ended.repeat((1 << 20) / ended.len() + 1);
        if unfinished {
            long.push_str("{\"step\":\"intended\",\"command_id\":\"cmd_2\",\"context_id\":\"c\",\"order_id\":\"1\",\"attempt_id\":\"a\"}\n");
        }
        fs::write(&path, long).unwrap();
        let journal = opened(&path);
        assert_eq!(journal.find("cmd_1").is_some(), unfinished);
        assert_eq!(fs::metadata(&path).unwrap().len() > 0, unfinished);
    }
}
