//! Crashed servers, lost responses and held locks.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::*;

#[test]
fn a_connection_survives_a_crash_of_the_server() {
    let mut server = Server::start().unwrap();
    let url = server.database("crash").unwrap();
    let store = Postgres::open(&url).unwrap();
    let (mut writer, mut reader) = (store.writer().unwrap(), store.reader().unwrap());
    let head = create(&mut *writer, "a");
    append(&mut *writer, "a");
    assert!(reader.head("a").unwrap().is_some());

    // In a transaction, while the server is down, and before the rollback.
    write_next(&mut *writer, "a").unwrap();
    server.stop_immediate().unwrap();
    let gone = |result: Result<(), StoreError>| {
        let gone = matches!(result, Err(StoreError::Unavailable(_)));
        assert!(gone, "{result:?}");
    };
    gone(writer.commit());
    gone(reader.head("a").map(drop));
    writer.rollback();
    gone(writer.begin());
    gone(Postgres::open(&url).map(drop));
    server.start_again().unwrap();
    append(&mut *writer, "a");
    assert_eq!(reader.events(head.key, 0, 9).unwrap().len(), 2);

    // The server is back before the loss was noticed: the transaction must not continue.
    write_next(&mut *writer, "a").unwrap();
    server.stop_immediate().unwrap();
    server.start_again().unwrap();
    gone(writer.lock("a").map(drop));
    assert!(writer.write(&head, &Changes::default()).is_err());
    assert!(writer.commit().is_err());
    writer.rollback();
    append(&mut *writer, "a");

    // An idle connection is not affected.
    server.stop_immediate().unwrap();
    server.start_again().unwrap();
    assert_eq!(reader.events(head.key, 0, 9).unwrap().len(), 3);
    append(&mut *writer, "a");
    let events = reader.events(head.key, 0, 9).unwrap();
    assert_eq!(events.len(), 4);
    let head = reader.head("a").unwrap().unwrap();
    assert_eq!(head.hash, chained(&events));
}

#[test]
fn an_idle_holder_loses_the_lock() {
    let server = server();
    let store = Postgres::open_with(&server.database("holder").unwrap(), SHORT).unwrap();
    let (mut holder, mut waiting) = (store.writer().unwrap(), store.writer().unwrap());
    let head = create(&mut *holder, "a");
    write_next(&mut *holder, "a").unwrap();
    waiting.begin().unwrap();
    let held = waiting.lock("a");
    assert!(matches!(held, Err(StoreError::Retry(_))), "{held:?}");
    waiting.rollback();
    append(&mut *waiting, "a");
    let late = holder.commit();
    assert!(
        matches!(&late, Err(StoreError::Unavailable(why)) if why.contains("25P03")),
        "{late:?}"
    );
    holder.rollback();
    append(&mut *holder, "a");
    assert_eq!(holder.events(head.key, 0, 9).unwrap().len(), 2);
}

#[test]
fn a_dropped_connection_releases_the_lock() {
    let server = server();
    let store = opened(&server, "dropped");
    let mut holder = store.writer().unwrap();
    create(&mut *holder, "a");
    write_next(&mut *holder, "a").unwrap();
    drop(holder);
    append(&mut *store.writer().unwrap(), "a");
}

/// A proxy that can drop responses.
struct Way {
    port: u16,
    deaf: Arc<AtomicBool>,
}

impl Way {
    fn to(server: &Server) -> Way {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let deaf = Arc::new(AtomicBool::new(false));
        let (to, swallow) = (server.port(), deaf.clone());
        // The threads end with the process.
        std::thread::spawn(move || {
            for near in listener.incoming() {
                let near = near.unwrap();
                let far = TcpStream::connect(("127.0.0.1", to)).unwrap();
                let back = (far.try_clone().unwrap(), near.try_clone().unwrap());
                let swallow = swallow.clone();
                std::thread::spawn(move || carry(near, far, &AtomicBool::new(false)));
                std::thread::spawn(move || carry(back.0, back.1, &swallow));
            }
        });
        Way { port, deaf }
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, swallow: &AtomicBool) {
    let mut bytes = [0; 4096];
    while let Ok(count) = from.read(&mut bytes) {
        if count == 0 {
            break;
        }
        if !swallow.load(Ordering::SeqCst) && to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}

#[test]
fn a_commit_with_a_lost_response_is_found_under_the_lock() {
    let server = server();
    let way = Way::to(&server);
    let url = server.database("lost").unwrap();
    let far = url.replace(&format!(":{}/", server.port()), &format!(":{}/", way.port));
    let patience = Duration::from_secs(3);
    let timeouts = Timeouts {
        response: patience,
        ..SHORT
    };
    let store = Postgres::open_with(&far, timeouts).unwrap();
    let mut writer = store.writer().unwrap();
    create(&mut *writer, "a");
    let head = write_next(&mut *writer, "a").unwrap();
    way.deaf.store(true, Ordering::SeqCst);
    let start = Instant::now();
    let result = writer.commit();
    let lost = matches!(&result, Err(StoreError::Unavailable(why)) if why.contains("no response"));
    assert!(lost, "{result:?}");
    assert!(start.elapsed() >= patience);
    way.deaf.store(false, Ordering::SeqCst);
    writer.rollback();
    writer.begin().unwrap();
    assert_eq!(writer.lock("a").unwrap(), Some(head));
    writer.rollback();
}

#[test]
fn a_silent_server_times_out() {
    // The kernel accepts for it.
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let impatient = Timeouts {
        connect: Duration::from_millis(300),
        response: Duration::from_millis(300),
        ..SHORT
    };
    let url = format!("postgres://u:secret@127.0.0.1:{port}/d");
    let why = Postgres::open_with(&url, impatient).unwrap_err();
    let why = why.to_string();
    assert!(why.contains("no connection after 300ms"), "{why}");
    assert!(why.contains(&port.to_string()), "{why}");
    assert!(!why.contains("secret"), "{why}");
}
