//! Pages whose content may take longer to compute than a request lasts.

use std::time::Duration;

use maud::{Markup, html};

use crate::app::ServiceError;
use crate::http::error::ApiError;

/// How long a page waits for the state of a study, less than the time limit of a request.
pub const WAIT: Duration = Duration::from_secs(25);

/// The result of a read, or none if it takes too long. It goes on in the background.
pub async fn in_time<T>(
    read: impl Future<Output = Result<T, ServiceError>>,
) -> Result<Option<T>, ApiError> {
    let read = tokio::time::timeout(WAIT, read).await;
    Ok(read.ok().transpose()?)
}

/// What a page shows meanwhile.
pub fn loading() -> Markup {
    html! {
        p.notice role="status" data-reload="10" {
            "The state of this study is being computed from its log, which takes long for the first time. It goes on in the background: "
            "reload this page in some seconds."
        }
    }
}
