//! Passwords and TLS.

use super::*;

#[test]
fn no_error_contains_the_password() {
    let server = server();
    let url = server.database("told").unwrap();
    let wrong = url.replace(server.password(), "hunter2");
    let why = Postgres::open(&wrong).unwrap_err();
    let text = format!("{why} {why:?}");
    assert!(
        text.contains("28P01") && !text.contains("hunter2"),
        "{text}"
    );
    let absent = server.url_of("absent");
    let why = Postgres::open(&absent).unwrap_err();
    let text = format!("{why} {why:?}");
    assert!(
        text.contains("3D000") && !text.contains(server.password()),
        "{text}"
    );
    let store = Postgres::open(&url).unwrap();
    let text = format!("{store:?} {}", store.location());
    assert!(
        text.contains("127.0.0.1") && !text.contains(server.password()),
        "{text}"
    );
}

#[test]
fn tls_verifies_the_certificate_and_the_name() {
    let Some(server) = Server::start_tls().unwrap() else {
        eprintln!("not tested: this PostgreSQL is built without TLS");
        return;
    };
    let authority = server.authority().unwrap().display();
    let url = server.database("tls").unwrap();
    let sure = format!("{url}?sslmode=require&sslrootcert={authority}");
    let mut link = link(&Postgres::open(&sure).unwrap());
    let sql = "SELECT ssl::TEXT || ' ' || version FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    assert_eq!(ask(&mut link, sql), "true TLSv1.3");
    create(&mut link, "a");
    append(&mut link, "a");

    // By another name in the certificate, and by a name that is not in it.
    let named = sure.replace("127.0.0.1", "localhost");
    Postgres::open(&named).unwrap();
    let other = format!(
        "{}&hostaddr=127.0.0.1",
        sure.replace("127.0.0.1", "db.example.org")
    );
    let why = Postgres::open(&other).unwrap_err().to_string();
    assert!(why.contains("not valid for name"), "{why}");

    // Signed by an unknown authority.
    let folder = tempfile::tempdir().unwrap();
    let stranger = emab_testkit::certificate::make(folder.path(), &["DNS:localhost"]).unwrap();
    let unsure = format!(
        "{url}?sslmode=require&sslrootcert={}",
        stranger.authority.display()
    );
    let why = Postgres::open(&unsure).unwrap_err().to_string();
    assert!(
        why.contains("invalid peer certificate") && why.contains("sslrootcert=FILE"),
        "{why}"
    );

    // A server without TLS, or an attacker who claims so.
    let plain = self::server();
    let url = plain.database("plain").unwrap();
    let why =
        Postgres::open(&format!("{url}?sslmode=require&sslrootcert={authority}")).unwrap_err();
    assert!(
        why.to_string().contains("server does not support TLS"),
        "{why}"
    );
}
