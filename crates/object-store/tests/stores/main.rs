//! Tables in a real S3 server (moto, from PyPI) and on an HTTP server, through a proxy that counts requests and
//! injects faults.

mod http;
mod proxy;
mod s3;
mod s3_server;
mod tables;
