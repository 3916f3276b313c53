//! A client of mountpoint's crates for an S3 server by any name, with what `mount-s3` takes where
//! it is not told otherwise.

use anyhow::Result;
use mountpoint_s3_client::S3CrtClient;
use mountpoint_s3_client::config::{AddressingStyle, S3ClientAuthConfig};
use mountpoint_s3_client::user_agent::UserAgent;
use mountpoint_s3_fs::Runtime;
use mountpoint_s3_fs::memory::{CandidateSize, PagedPool};
use mountpoint_s3_fs::s3::config::{ClientConfig, MemoryLimitSetting, PartConfig, Region, TargetThroughputSetting};

const PART: usize = 8 << 20;
/// Of the data cache.
pub const BLOCK: usize = 1 << 20;

/// What reads, where it runs, and the memory that it reads into.
pub struct Client {
    pub s3: S3CrtClient,
    pub runtime: Runtime,
    pub pool: PagedPool,
}

impl Client {
    /// With the credentials of the environment, in so many bytes of memory.
    pub fn new(endpoint_url: &str, region: &str, memory: usize) -> Result<Self> {
        let config = ClientConfig {
            region: Region::new_user_specified(region.to_owned()),
            endpoint_url: Some(endpoint_url.to_owned()),
            addressing_style: AddressingStyle::Path,
            dual_stack: false,
            transfer_acceleration: false,
            auth_config: S3ClientAuthConfig::Default,
            requester_pays: false,
            expected_bucket_owner: None,
            throughput_target: TargetThroughputSetting::Default,
            bind: None,
            part_config: PartConfig::with_part_size(PART).validate(MemoryLimitSetting::Default(memory))?,
            user_agent: UserAgent::new(None),
            tls_config: None,
        };
        let sizes = [BLOCK, config.part_config.read_size_bytes].map(CandidateSize::prunable);
        let pool = PagedPool::config().with_candidate_sizes(sizes).with_memory_limit(memory).build();
        let s3 = config.create_client(pool.clone(), None)?;
        Ok(Self { runtime: Runtime::new(s3.event_loop_group()), s3, pool })
    }
}
