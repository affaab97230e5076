//! Object stores on loopback: a real S3 server, and a proxy that counts requests and makes them fail.

mod proxy;
mod s3_server;

pub use self::proxy::{Fault, Proxy, Upstream};
pub use self::s3_server::{S3Server, create_bucket};
