//! Every description over every table and every database that the engines wrote.

mod changing;
mod damage;
mod databases;
mod dump;
mod explain_cases;
mod explanations;
mod files;
mod filters;
mod lookups;
mod orders;
mod pages;
mod records;
