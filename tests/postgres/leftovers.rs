//! The bytes that a database leaves in its files, for tests that look for what must not be there.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sqlx::{Connection as _, PgConnection};

use crate::place::Place;

/// Every file below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// A text or its bytes in hexadecimal digits, as binary columns are dumped, somewhere in these bytes.
fn stands_in(bytes: &[u8], text: &str) -> bool {
    let find = |wanted: &[u8]| bytes.windows(wanted.len()).any(|window| window.eq_ignore_ascii_case(wanted));
    find(text.as_bytes()) || find(hex::encode(text).as_bytes())
}

/// A dump of the database, where there is a program for that.
fn dump(url: &str) -> Vec<u8> {
    let dumped = Command::new("pg_dump").arg(url).stderr(Stdio::inherit()).output().unwrap();
    assert!(dumped.status.success(), "pg_dump failed");
    dumped.stdout
}

/// Does what docs/PRIVACY.md tells the owner of a PostgreSQL to do.
async fn maintained(url: &str) -> PathBuf {
    let mut connection = PgConnection::connect(url).await.unwrap();
    for statement in ["ANALYZE", "VACUUM FULL", "CHECKPOINT"] {
        sqlx::raw_sql(statement).execute(&mut connection).await.unwrap();
    }
    let folder: String = sqlx::query_scalar(
        "SELECT current_setting('data_directory') || '/base/' || oid FROM pg_database
         WHERE datname = current_database()",
    )
    .fetch_one(&mut connection)
    .await
    .unwrap();
    connection.close().await.unwrap();
    PathBuf::from(folder)
}

/// What holds each of the texts: on SQLite every file, on PostgreSQL a fresh dump and, after the documented maintenance,
/// every file of the database. Each text with the number of places; none where it is nowhere.
pub(crate) async fn leftovers(place: &Place, texts: &[String]) -> Vec<(String, usize)> {
    let mut contents: Vec<Vec<u8>> = Vec::new();
    let folder = match place {
        Place::File(folder) => folder.path().to_path_buf(),
        Place::Server(url) => {
            contents.push(dump(url));
            maintained(url).await
        }
    };
    let mut paths = Vec::new();
    files(&folder, &mut paths);
    contents.extend(paths.iter().map(|path| std::fs::read(path).unwrap()));
    let count = |text: &String| contents.iter().filter(|bytes| stands_in(bytes, text)).count();
    texts.iter().map(|text| (text.clone(), count(text))).collect()
}
