//! The command-line program: installs the tables, upgrades them, keeps the keys of the HTTP API, looks an installation
//! over, takes people in and out, writes what is generated from the catalog.
//!
//! A door like the others: what a function does is decided in the library.

mod api_key;
mod cms;
mod config_file;
mod doctor;
mod export;
mod failure;
mod import;
mod install;
mod installation;
mod man;
mod outbox;
mod progress;
mod serve;
mod stubs;
mod upgrade;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The program of a customer-support chat installation.
#[derive(Parser)]
#[command(name = "sb", version, arg_required_else_help = true)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Makes the tables, the bot and an admin account in an empty database.
    Install(install::Options),
    /// Brings the tables of an older version up to date.
    Upgrade(upgrade::Options),
    /// Serves the HTTP API.
    Serve(serve::Options),
    /// Makes, lists and revokes keys of the HTTP API.
    ApiKey(api_key::Options),
    /// Shows what waits to be delivered or was given up, and tries it again.
    Outbox(outbox::Options),
    /// Looks an installation over, and says of each finding what to do. Status 1 when there is one.
    Doctor(doctor::Options),
    /// Takes people over from a file.
    #[command(subcommand)]
    Import(import::What),
    /// Writes people into a file.
    #[command(subcommand)]
    Export(export::What),
    /// Works with the content-management system.
    #[command(subcommand)]
    Cms(cms::What),
    /// Writes the manual pages.
    #[command(hide = true)]
    Man(man::Options),
    /// Writes the PHP stub and the reference of all functions, in the project's folder.
    Stubs(stubs::Options),
}

fn main() -> ExitCode {
    let done = match Program::parse().command {
        Command::Install(options) => install::run(&options),
        Command::Upgrade(options) => upgrade::run(&options),
        Command::Serve(options) => serve::run(&options),
        Command::ApiKey(options) => api_key::run(options),
        Command::Outbox(options) => outbox::run(&options),
        Command::Doctor(options) => doctor::run(&options),
        Command::Import(what) => import::run(&what),
        Command::Export(what) => export::run(&what),
        Command::Cms(what) => cms::run(&what),
        Command::Man(options) => man::run(&options),
        Command::Stubs(options) => stubs::run(&options),
    };
    done.map_or_else(|failure| failure.report(), |()| ExitCode::SUCCESS)
}
