//! What the files of Amazon's own tools say: `~/.aws/config` and `~/.aws/credentials`.
//!
//! A profile is a section of them: regions, endpoints and keys. One that has no keys says how to
//! come by some that last for hours (a single sign-on, a role to be taken on). That is asked of the
//! command that the profile names, or of `aws`, which knows all such ways.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use chrono::DateTime;
use ini::{Ini, ParseOption};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey as Key, AwsCredential};
use object_store::{CredentialProvider, Error, Result};
use tokio::sync::Mutex;

use crate::settings::{Unusable, check};

/// What lasts for less is asked for anew: a request that is on its way must not be too late.
const LEAST: Duration = Duration::from_secs(120);

/// What helps where a profile's keys cannot be had.
const REMEDY: &str = "eval \"$(aws configure export-credentials --format env)\"";

/// A profile.
#[derive(Debug, PartialEq)]
struct Profile {
    region: Option<String>,
    endpoint: Option<String>,
    keys: Option<Keys>,
}

/// Where its keys are.
#[derive(Debug, PartialEq)]
enum Keys {
    Here {
        id: String,
        secret: String,
        token: Option<String>,
    },
    /// A shell's command prints them.
    From(String),
}

/// Adds what neither the environment nor the program has set, as the files say it.
pub fn apply(mut builder: AmazonS3Builder) -> Result<AmazonS3Builder, Unusable> {
    let profile = match in_use() {
        Ok(Some(profile)) => profile,
        Ok(None) => return Ok(builder),
        Err(why) => return Err(error(why).into()),
    };
    let is_set = |builder: &AmazonS3Builder, keys: &[Key]| keys.iter().any(|it| builder.get_config_value(it).is_some());
    if let Some(region) = profile.region
        && !is_set(&builder, &[Key::Region, Key::DefaultRegion])
    {
        check("aws_region", "region of the profile", &region).map_err(Unusable::Setting)?;
        builder = builder.with_region(region);
    }
    if let Some(endpoint) = profile.endpoint
        && !is_set(&builder, &[Key::Endpoint, Key::S3Endpoint])
    {
        check("aws_endpoint", "endpoint_url of the profile", &endpoint).map_err(Unusable::Setting)?;
        builder = builder.with_endpoint(endpoint);
    }
    let says_who = is_set(&builder, &[Key::AccessKeyId, Key::WebIdentityTokenFile])
        || builder.get_config_value(&Key::SkipSignature).is_some_and(|it| it == "true");
    if says_who {
        return Ok(builder);
    }
    Ok(match profile.keys {
        Some(Keys::Here { id, secret, token }) => {
            let builder = builder.with_access_key_id(id).with_secret_access_key(secret);
            match token {
                Some(token) => builder.with_token(token),
                None => builder,
            }
        }
        Some(Keys::From(command)) => builder.with_credentials(Arc::new(Printed { command, last: Mutex::default() })),
        None => builder,
    })
}

fn error(why: String) -> Error {
    Error::Generic { store: "S3", source: why.into() }
}

/// The profile that is in use, if there is one.
fn in_use() -> Result<Option<Profile>, String> {
    let file = |variable: &str, name: &str| match env::var_os(variable).filter(|it| !it.is_empty()) {
        Some(path) => PathBuf::from(path),
        None => env::home_dir().unwrap_or_default().join(".aws").join(name),
    };
    let config = file("AWS_CONFIG_FILE", "config");
    let credentials = file("AWS_SHARED_CREDENTIALS_FILE", "credentials");
    let named = env::var("AWS_PROFILE").ok().filter(|it| !it.is_empty());
    let name = named.as_deref().unwrap_or("default");
    let found = find(name, &read(&config)?, &read(&credentials)?)?;
    match (found, named) {
        (None, Some(name)) => {
            let (config, credentials) = (config.display(), credentials.display());
            Err(format!("there is no profile {name:?} (AWS_PROFILE) in {config} or {credentials}"))
        }
        (found, _) => Ok(found),
    }
}

/// A file as it is read; one that is not there says nothing, and neither does one that others keep
/// to themselves.
fn read(path: &Path) -> Result<Ini, String> {
    let Ok(text) = std::fs::read_to_string(path) else { return Ok(Ini::new()) };
    parse(&text).map_err(|why| format!("{}: {why}", path.display()))
}

fn parse(text: &str) -> Result<Ini, ini::ParseError> {
    // Nothing is quoted or escaped in these files; what is set in is of the line above, and is taken for lines
    // of their own.
    let option = ParseOption { enabled_quote: false, enabled_escape: false, ..ParseOption::default() };
    Ini::load_from_str_opt(text, option)
}

/// A profile, where either file has it.
fn find(name: &str, config: &Ini, credentials: &Ini) -> Result<Option<Profile>, String> {
    let long = format!("profile {name}");
    let sections = [
        credentials.section(Some(name)),
        config.section(Some(&long)),
        (name == "default").then(|| config.section(Some(name))).flatten(),
    ];
    if sections.iter().all(Option::is_none) {
        return Ok(None);
    }
    let get = |key: &str| {
        let said = sections.iter().flatten().filter_map(|it| it.get(key));
        said.into_iter().find(|value| !value.is_empty()).map(str::to_owned)
    };
    let has = |key: &str| get(key).is_some();
    let keys = match (get("aws_access_key_id"), get("aws_secret_access_key"), get("credential_process")) {
        // Those of a profile with a role are whose it is before he takes it on.
        _ if ["role_arn", "sso_session", "sso_start_url", "login_session"].into_iter().any(has) => {
            Some(Keys::From(format!("aws configure export-credentials --format process --profile {}", quoted(name))))
        }
        (Some(id), Some(secret), _) => Some(Keys::Here { id, secret, token: get("aws_session_token") }),
        (Some(_), None, _) => {
            return Err(format!("profile {name:?} has an aws_access_key_id and no aws_secret_access_key"));
        }
        (None, _, Some(command)) => Some(Keys::From(command)),
        (None, ..) => None,
    };
    let endpoint = get("services").and_then(|it| endpoint_of_s3(config, &it)).or_else(|| get("endpoint_url"));
    Ok(Some(Profile { region: get("region"), endpoint, keys }))
}

/// What is said of S3 in a section that a profile shares with others. What is set in below a service's name is its
/// own, up to the next name, which has no value.
fn endpoint_of_s3(config: &Ini, services: &str) -> Option<String> {
    let section = config.section(Some(format!("services {services}")))?;
    let said = section.iter().skip_while(|(key, _)| *key != "s3").skip(1);
    let mut of_s3 = said.take_while(|(_, value)| !value.is_empty());
    of_s3.find(|(key, _)| *key == "endpoint_url").map(|(_, value)| value.to_owned())
}

/// As one word of a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Keys that a command prints, for as long as they last.
#[derive(Debug)]
struct Printed {
    command: String,
    last: Mutex<Option<Printout>>,
}

/// What it printed.
#[derive(Debug)]
struct Printout {
    credential: Arc<AwsCredential>,
    until: Option<SystemTime>,
}

impl Printout {
    fn is_fresh(&self) -> bool {
        self.until.is_none_or(|until| until > SystemTime::now() + LEAST)
    }
}

#[async_trait]
impl CredentialProvider for Printed {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> Result<Arc<AwsCredential>> {
        // Who comes meanwhile waits for the same.
        let mut last = self.last.lock().await;
        if let Some(printout) = last.as_ref().filter(|it| it.is_fresh()) {
            return Ok(Arc::clone(&printout.credential));
        }
        let command = self.command.clone();
        let printed = tokio::task::spawn_blocking(move || run(&command)).await;
        let printout = printed.map_err(|why| error(why.to_string()))?.map_err(error)?;
        Ok(Arc::clone(&last.insert(printout).credential))
    }
}

/// Runs the command.
fn run(command: &str) -> Result<Printout, String> {
    let output = Command::new("sh").args(["-c", command]).output().map_err(|why| format!("sh: {why}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`{command}` failed, {}: {}; or else: {REMEDY}", output.status, said.trim()));
    }
    understand(&output.stdout).ok_or_else(|| format!("`{command}` printed no keys; or else: {REMEDY}"))
}

/// Keys as such commands print them.
fn understand(printed: &[u8]) -> Option<Printout> {
    let printed: serde_json::Value = serde_json::from_slice(printed).ok()?;
    let get = |name: &str| printed.get(name)?.as_str().map(str::to_owned);
    let until = match get("Expiration") {
        Some(text) => Some(DateTime::parse_from_rfc3339(&text).ok()?.into()),
        None => None,
    };
    let credential =
        AwsCredential { key_id: get("AccessKeyId")?, secret_key: get("SecretAccessKey")?, token: get("SessionToken") };
    Some(Printout { credential: Arc::new(credential), until })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, config: &str, credentials: &str) -> Result<Option<Profile>, String> {
        find(name, &parse(config).unwrap(), &parse(credentials).unwrap())
    }

    fn here(id: &str, secret: &str, token: Option<&str>) -> Option<Keys> {
        Some(Keys::Here { id: id.to_owned(), secret: secret.to_owned(), token: token.map(str::to_owned) })
    }

    #[test]
    fn the_files_are_read_as_amazons_tools_read_them() {
        let config = "# of ours\n[default]\nregion = eu-west-1\ns3 =\n  max_concurrent_requests = 20\n\
                      [profile lab]\nregion=us-east-2\nendpoint_url = http://127.0.0.1:9000/a=b\n\
                      [profile cli]\ncredential_process = \"/opt/a tool\" --who 'me'\n";
        let credentials = "[default]\naws_access_key_id = A\naws_secret_access_key = a/b+c=\\d\n\
                           [lab]\naws_access_key_id=L\naws_secret_access_key=l\naws_session_token=t\n";
        let profile = found("default", config, credentials).unwrap().unwrap();
        assert_eq!((profile.region.as_deref(), profile.keys), (Some("eu-west-1"), here("A", "a/b+c=\\d", None)));
        let profile = found("lab", config, credentials).unwrap().unwrap();
        assert_eq!(profile.endpoint.as_deref(), Some("http://127.0.0.1:9000/a=b"));
        assert_eq!((profile.region.as_deref(), profile.keys), (Some("us-east-2"), here("L", "l", Some("t"))));
        let profile = found("cli", config, credentials).unwrap().unwrap();
        assert_eq!(profile.keys, Some(Keys::From("\"/opt/a tool\" --who 'me'".to_owned())));
        assert_eq!(found("none", config, credentials), Ok(None));
        assert_eq!(found("default", "", ""), Ok(None));
    }

    #[test]
    fn an_endpoint_is_that_of_s3_where_services_have_their_own() {
        let config = "[profile lab]\nendpoint_url = http://all\nservices = near\n\
                      [profile home]\nendpoint_url = http://all\nservices = other\n\
                      [services near]\ndynamodb =\n  endpoint_url = http://tables\n\
                      s3 = \n    max_attempts = 2\n    endpoint_url = http://objects\nsqs =\n  endpoint_url = http://queues\n\
                      [services other]\ns3 =\nsqs =\n  endpoint_url = http://queues\n";
        let endpoint = |name| found(name, config, "").unwrap().unwrap().endpoint;
        assert_eq!(endpoint("lab").as_deref(), Some("http://objects"));
        assert_eq!(endpoint("home").as_deref(), Some("http://all"));
    }

    #[test]
    fn what_wants_more_than_keys_is_asked_of_aws() {
        let config = "[profile it's]\nsso_session = x\n[profile role]\nrole_arn = arn\nsource_profile = default\n";
        let keys = |name| found(name, config, "").unwrap().unwrap().keys;
        let ask =
            |name| Some(Keys::From(format!("aws configure export-credentials --format process --profile {name}")));
        assert_eq!((keys("it's"), keys("role")), (ask("'it'\\''s'"), ask("'role'")));
    }

    #[test]
    fn half_a_key_is_an_error() {
        let error = found("default", "", "[default]\naws_access_key_id = A\n").unwrap_err();
        assert!(error.contains("default") && error.contains("aws_secret_access_key"), "{error}");
    }

    #[test]
    fn a_command_is_asked_again_when_its_keys_end() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let asked = |until: &str| {
            let count = std::env::temp_dir().join(format!("foresee-profile-{}-{}", std::process::id(), until.len()));
            let count = count.to_str().unwrap();
            let command =
                format!("echo >> {count}; echo '{{\"AccessKeyId\": \"A\", \"SecretAccessKey\": \"a\"{until}}}'");
            let printed = Printed { command, last: Mutex::default() };
            for _ in 0..3 {
                assert_eq!(runtime.block_on(printed.get_credential()).unwrap().key_id, "A");
            }
            let times = std::fs::read_to_string(count).unwrap().len();
            std::fs::remove_file(count).unwrap();
            times
        };
        assert_eq!(asked(""), 1);
        assert_eq!(asked(", \"Expiration\": \"2999-01-01T00:00:00Z\""), 1);
        assert_eq!(asked(", \"Expiration\": \"2020-01-01T00:00:00+00:00\""), 3);
    }

    #[test]
    fn what_a_command_fails_with_is_said() {
        let error = run("echo sign in first >&2; exit 3").unwrap_err();
        assert!(
            ["exit 3", "sign in first", "status: 3", "export-credentials"].iter().all(|it| error.contains(it)),
            "{error}"
        );
        let error = run("echo nothing").unwrap_err();
        assert!(error.contains("printed no keys"), "{error}");
    }
}
