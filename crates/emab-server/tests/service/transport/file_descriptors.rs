//! The service accepts connections again after it ran out of file descriptors.

use std::process::Command;

use crate::support::socket::{GET_AND_CLOSE, Running, hello, ms, rest};
use emab_server::transport::Limits;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::sleep;

const CHILD: &str = "EMAB_TEST_FEW_FILES";
const NAME: &str = "transport::file_descriptors::the_service_recovers_from_running_out_of_files";

#[test]
fn the_service_recovers_from_running_out_of_files() {
    if std::env::var_os(CHILD).is_some() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        return runtime.block_on(with_few_files());
    }
    // The limit applies to a process, so this runs in a child.
    let output = Command::new("sh")
        .args([
            "-c",
            r#"ulimit -n 40 && exec "$0" --exact "$1" --nocapture"#,
        ])
        .arg(std::env::current_exe().unwrap())
        .arg(NAME)
        .env(CHILD, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let passed = output.status.success() && said.contains("1 passed");
    assert!(passed, "{output:?}");
    assert!(said.contains("out of files"), "{said}");
}

async fn with_few_files() {
    let running = Running::start(hello(), Limits::default(), None).await;
    // Clients and service share the limit.
    let mut clients = Vec::new();
    let error = loop {
        match TcpStream::connect(running.addr).await {
            Ok(client) => clients.push(client),
            Err(error) => break error,
        }
    };
    println!("out of files: {error}");
    sleep(ms(500)).await;
    let mut last = clients.pop().unwrap();
    clients.clear();
    last.write_all(GET_AND_CLOSE).await.unwrap();
    assert!(rest(&mut last).await.ends_with("hello"));
    let mut new = running.connect().await;
    new.write_all(GET_AND_CLOSE).await.unwrap();
    assert!(rest(&mut new).await.ends_with("hello"));
}
