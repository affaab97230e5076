//! What is known about the soundness of a source.

use super::to_short_json;
use crate::error::{PageError, Result};
use crate::inspector::Request;
use crate::source::Opened;

/// The last verification.
pub(super) fn health(request: &Request<'_>) -> Result<Vec<u8>> {
    if let Opened::Failed(why) = request.opened {
        return Err(PageError::not_found(why.clone()));
    }
    to_short_json(&request.inspector.verifications.state(
        request.index,
        request.name,
        request.opened,
    ))
}
