//! Tables and databases in a real S3 server (moto, from PyPI) and on an HTTP server, through a proxy that counts requests and
//! injects faults.

mod bucket;
mod databases;
mod faults;
mod hostile;
mod http;
mod s3;
mod tables;
mod urls;
