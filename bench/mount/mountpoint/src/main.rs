//! Mounts a bucket with AWS's mountpoint for S3, read-only, for `bench/mount`.
//!
//! Its command `mount-s3` is in no registry, but the crates are that it consists of; this puts them
//! together as it does, with its names of options and its defaults, but for its allocator,
//! jemalloc. It stays in the foreground, and unmounts at SIGTERM and SIGINT.
//!
//! 242 crates are built with it and the C libraries of AWS, by cmake, a C compiler and libclang
//! (Debian: cmake, gcc, libclang-dev): seven minutes of processor time.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Parser;
use foresee_bench_mountpoint::{BLOCK, Client};
use mountpoint_s3_fs::data_cache::{CacheLimit, DataCacheConfig, DiskDataCacheConfig, ManagedCacheDir};
use mountpoint_s3_fs::fs::{CacheConfig, TimeToLive};
use mountpoint_s3_fs::fuse::config::{FuseOptions, FuseSessionConfig, MountPoint};
use mountpoint_s3_fs::logging::{LoggingConfig, init_logging};
use mountpoint_s3_fs::memory::{MINIMUM_MEM_LIMIT, effective_total_memory};
use mountpoint_s3_fs::s3::{Bucket, Prefix, S3Path};
use mountpoint_s3_fs::{MountpointConfig, S3FilesystemConfig, Superblock, SuperblockConfig};

const THREADS: usize = 16;
const CACHED_METADATA_TTL: TimeToLive = TimeToLive::Duration(Duration::from_secs(60));

/// Mounts a bucket by path, with the credentials of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
#[derive(Parser)]
struct Arguments {
    bucket: String,
    directory: PathBuf,
    #[arg(long)]
    endpoint_url: String,
    #[arg(long)]
    region: String,
    /// What the names of the objects begin with, up to a slash
    #[arg(long, default_value = "")]
    prefix: Prefix,
    /// A folder for what was read; its bytes and names are kept
    #[arg(long, requires = "max_cache_size")]
    cache: Option<PathBuf>,
    /// MiB
    #[arg(long, requires = "cache")]
    max_cache_size: Option<usize>,
    /// Seconds, `minimal` or `indefinite`; 60 with a cache, and `minimal` without
    #[arg(long)]
    metadata_ttl: Option<TimeToLive>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let log = LoggingConfig { log_file: None, log_to_stdout: true, default_filter: "warn,awscrt=off".to_owned() };
    let _log = init_logging(log)?;
    let cache = arguments
        .cache
        .map(|folder| ManagedCacheDir::new_from_parent_with_cache_key(folder, None, true))
        .transpose()?;
    let disk_cache_config = cache.as_ref().zip(arguments.max_cache_size).map(|(folder, mib)| DiskDataCacheConfig {
        cache_directory: folder.as_path_buf(),
        block_size: BLOCK as u64,
        limit: CacheLimit::TotalSize { max_size: mib << 20 },
    });
    let default_ttl = if cache.is_some() { CACHED_METADATA_TTL } else { TimeToLive::Minimal };
    let names = CacheConfig::new(arguments.metadata_ttl.unwrap_or(default_ttl));

    let memory = (effective_total_memory() as usize / 100 * 95).max(MINIMUM_MEM_LIMIT);
    let Client { s3, runtime, pool } = Client::new(&arguments.endpoint_url, &arguments.region, memory)?;
    let path = S3Path::new(Bucket::new(arguments.bucket)?, arguments.prefix);
    let superblock = SuperblockConfig { cache_config: names.clone(), s3_personality: Default::default() };
    let tree = Superblock::new(s3.clone(), path, superblock);

    let options = FuseOptions { read_only: true, ..FuseOptions::default() };
    let fuse = FuseSessionConfig::new(MountPoint::new(arguments.directory)?, options, THREADS)?;
    let files = S3FilesystemConfig { cache_config: names, read_only: true, ..S3FilesystemConfig::default() };
    let data = DataCacheConfig { disk_cache_config, express_cache_config: None };
    MountpointConfig::new(fuse, files, data)?.create_fuse_session(tree, s3, runtime, pool)?.join()
}
