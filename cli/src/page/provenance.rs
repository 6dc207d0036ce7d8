//! How a report was made: version, date, command line and settings.

use std::time::{SystemTime, UNIX_EPOCH};

use maud::{Markup, html};
use serde_json::Value;

/// How a result was computed. The version of codiag is added by the page.
#[derive(Clone, Debug, Default)]
pub struct Provenance {
    /// Command line, or call in another language.
    pub command: Option<String>,
    /// Name and value of each setting.
    pub settings: Vec<(String, String)>,
}

impl Provenance {
    /// Returns the settings of a JSON object. Settings that are null were not given.
    pub(crate) fn from_json(command: Option<&str>, settings: &Value) -> Self {
        let fields = settings.as_object().into_iter().flatten();
        Self {
            command: command.map(str::to_owned),
            settings: fields
                .map(|(name, value)| (name.clone(), value_text(value)))
                .collect(),
        }
    }

    /// A collapsible section.
    pub(super) fn details(&self) -> Markup {
        html! {
            details.provenance id="settings" {
                summary { "Settings, version, date and command" }
                div.scroll {
                    table.words {
                        tbody {
                            tr { td { "codiag" } td { (env!("CARGO_PKG_VERSION")) } }
                            tr { td { "date" } td { (utc_date(SystemTime::now())) } }
                            @if let Some(command) = &self.command {
                                tr { td { "command" } td { code { (command) } } }
                            }
                            @for (name, value) in &self.settings {
                                tr { td { code { (name) } } td { (value) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Formats the value of a setting.
fn value_text(value: &Value) -> String {
    match value {
        Value::Null => "not given".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(values) if values.is_empty() => "none".to_owned(),
        Value::Array(values) => {
            let range = |values: &[Value]| values.iter().map(value_text).collect::<Vec<_>>();
            if values.iter().all(Value::is_array) {
                let pair = |value: &Value| range(value.as_array().map_or(&[], Vec::as_slice));
                let pairs: Vec<String> = values.iter().map(|v| pair(v).join("–")).collect();
                pairs.join(", ")
            } else {
                range(values).join(", ")
            }
        }
        Value::Object(fields) => {
            let each = |(name, value): (&String, &Value)| format!("{name} {}", value_text(value));
            fields.iter().map(each).collect::<Vec<_>>().join(", ")
        }
        number @ Value::Number(_) => number.to_string(),
    }
}

/// Joins arguments to a command line that a shell reads as the same arguments.
pub fn command_line(arguments: impl IntoIterator<Item = String>) -> String {
    let safe = |c: char| c.is_alphanumeric() || "-_./,:=+@%".contains(c);
    let quoted: Vec<String> = arguments
        .into_iter()
        .map(|text| {
            if !text.is_empty() && text.chars().all(safe) {
                text
            } else {
                format!("'{}'", text.replace('\'', r"'\''"))
            }
        })
        .collect();
    quoted.join(" ")
}

/// Formats a time as date and time of day in UTC.
fn utc_date(time: SystemTime) -> String {
    let seconds = time
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let (days, minutes) = ((seconds / 86_400) as i64, seconds % 86_400 / 60);
    // Gregorian calendar with years that begin in March, so that leap days come last:
    // H. Hinnant, "chrono-compatible low-level date algorithms".
    let shifted = days + 719_468;
    let (era, day) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + i64::from(month <= 2);
    format!(
        "{year}-{month:02}-{day:02} {:02}:{:02} UTC",
        minutes / 60,
        minutes % 60
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    #[test]
    fn dates_follow_the_calendar() {
        let at = |seconds| utc_date(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01 00:00 UTC");
        assert_eq!(at(951_825_600), "2000-02-29 12:00 UTC");
        assert_eq!(at(1_767_225_599), "2025-12-31 23:59 UTC");
    }

    #[test]
    fn arguments_are_quoted_for_a_shell() {
        let line = |arguments: &[&str]| command_line(arguments.iter().map(ToString::to_string));
        assert_eq!(line(&["codiag", "--lags", "1:100"]), "codiag --lags 1:100");
        assert_eq!(line(&["my file", "", "it's"]), r"'my file' '' 'it'\''s'");
    }

    #[test]
    fn settings_are_readable() {
        let settings =
            json!({"bands": [[1, 4], [4, 8]], "init": null, "names": [], "center": true});
        let provenance = Provenance::from_json(None, &settings);
        let text: Vec<&str> = provenance.settings.iter().map(|s| s.1.as_str()).collect();
        assert_eq!(text, ["1–4, 4–8", "yes", "not given", "none"]);
    }
}
