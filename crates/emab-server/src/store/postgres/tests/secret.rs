//! Passwords and TLS.

use super::*;

#[test]
fn no_error_contains_the_password() {
    let server = server();
    let url = server.database("told").unwrap();
    let wrong = url.replace(server.password(), "hunter2");
    let wrong = Postgres::open(&wrong).unwrap_err();
    let absent = Postgres::open(&server.url_of("absent")).unwrap_err();
    let store = Postgres::open(&url).unwrap();
    for (text, part, password) in [
        (format!("{wrong} {wrong:?}"), "28P01", "hunter2"),
        (format!("{absent} {absent:?}"), "3D000", server.password()),
        (
            format!("{store:?} {}", store.target.location),
            "127.0.0.1",
            server.password(),
        ),
    ] {
        assert!(text.contains(part) && !text.contains(password), "{text}");
    }
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
    let other = sure.replace("127.0.0.1", "db.example.org") + "&hostaddr=127.0.0.1";
    refused(&other, &["not valid for name"]);

    // Signed by an unknown authority.
    let folder = tempfile::tempdir().unwrap();
    let stranger = emab_testkit::certificate::make(folder.path(), &["DNS:localhost"]).unwrap();
    let stranger = stranger.authority.display();
    let unsure = format!("{url}?sslmode=require&sslrootcert={stranger}");
    let words = ["invalid peer certificate", "sslrootcert=FILE"];
    refused(&unsure, &words);

    // A server without TLS, or an attacker who claims so.
    let plain = self::server();
    let url = plain.database("plain").unwrap();
    let secure = format!("{url}?sslmode=require&sslrootcert={authority}");
    refused(&secure, &["server does not support TLS"]);
}
