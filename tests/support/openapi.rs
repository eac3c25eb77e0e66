//! A provider's own description of its service (OpenAPI 3) as the judge of requests and of answers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use jsonschema::Validator;
use regex::Regex;
use serde_json::{Map, Value, json};

/// A description.
pub struct OpenApi {
    document: Value,
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

/// One operation of it.
pub struct Operation<'a> {
    api: &'a OpenApi,
    /// Where it stands in the document.
    pointer: String,
}

impl OpenApi {
    pub fn new(text: &str) -> Self {
        let mut document = serde_json::from_str(text).unwrap();
        repair(&mut document);
        Self {
            document,
            validators: Mutex::default(),
        }
    }

    /// The operation of a method at a path.
    pub fn operation(&self, method: &str, path: &str) -> Option<Operation<'_>> {
        let verb = method.to_lowercase();
        let paths = self.document["paths"].as_object().unwrap();
        let mut fitting: Vec<&String> = paths
            .iter()
            .filter(|(template, operations)| operations.get(&verb).is_some() && fits(template, path))
            .map(|(template, _)| template)
            .collect();
        // Where a name and a placeholder fit, the name is meant.
        fitting.sort_by_key(|template| template.matches('{').count());
        let template = fitting.first()?.replace('~', "~0").replace('/', "~1");
        Some(Operation {
            api: self,
            pointer: format!("/paths/{template}/{verb}"),
        })
    }

    fn at(&self, pointer: &str) -> Option<&Value> {
        let part = self.document.pointer(pointer)?;
        match part["$ref"].as_str() {
            Some(reference) => self.at(reference.trim_start_matches('#')),
            None => Some(part),
        }
    }

    fn judge(&self, pointer: &str, value: &Value) -> Result<(), String> {
        let mut validators = self.validators.lock().unwrap();
        let validator = validators.entry(pointer.to_owned()).or_insert_with(|| {
            let mut schema = self.document.clone();
            schema["allOf"] = json!([{"$ref": format!("#{}", escaped(pointer))}]);
            Arc::new(jsonschema::draft202012::new(&schema).unwrap())
        });
        validator
            .validate(value)
            .map_err(|error| format!("{error} at {}", error.instance_path()))
    }
}

impl Operation<'_> {
    /// Whether parameters of an address are those of the operation.
    pub fn check_parameters(&self, given: &[(String, String)]) -> Result<(), String> {
        let known: Vec<Value> = self
            .api
            .at(&format!("{}/parameters", self.pointer))
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter(|parameter| parameter["in"] == "query")
            .cloned()
            .collect();
        for (name, value) in given {
            let parameter = known.iter().find(|parameter| parameter["name"] == *name);
            let schema = &parameter.ok_or_else(|| format!("unknown parameter {name}"))?["schema"];
            let is_right = match schema["type"].as_str() {
                Some("integer") => value.parse::<i64>().is_ok(),
                Some("boolean") => matches!(value.as_str(), "true" | "false"),
                _ => schema["enum"]
                    .as_array()
                    .is_none_or(|values| values.contains(&Value::from(value.as_str()))),
            };
            if !is_right {
                return Err(format!("parameter {name} is {value}"));
            }
        }
        Ok(())
    }

    /// Whether a body is one of the operation.
    pub fn check_body(&self, media_type: &str, body: &Value) -> Result<(), String> {
        let content = format!("{}/requestBody/content", self.pointer);
        let schema = format!("{content}/{}/schema", media_type.replace('/', "~1"));
        if self.api.at(&schema).is_none() {
            return Err(format!("no body of the type {media_type} is taken"));
        }
        self.api.judge(&schema, body)
    }

    /// Whether the operation takes a body at all.
    pub fn takes_body(&self) -> bool {
        self.api.at(&format!("{}/requestBody", self.pointer)).is_some()
    }

    /// A body of a form: fields that the schema has as lists are lists, numbers and truth values are read.
    pub fn form(&self, media_type: &str, fields: &[(String, String)]) -> Value {
        let content = format!("{}/requestBody/content", self.pointer);
        let schema = self
            .api
            .at(&format!("{content}/{}/schema", media_type.replace('/', "~1")))
            .cloned()
            .unwrap_or_default();
        let mut body = Map::new();
        for (name, value) in fields {
            match schema["properties"][name]["type"].as_str() {
                Some("array") => body
                    .entry(name)
                    .or_insert_with(|| json!([]))
                    .as_array_mut()
                    .unwrap()
                    .push(value.as_str().into()),
                Some("integer" | "number" | "boolean") => {
                    let read = serde_json::from_str(value).unwrap_or_else(|_| value.as_str().into());
                    body.insert(name.clone(), read);
                }
                _ => {
                    body.insert(name.clone(), value.as_str().into());
                }
            }
        }
        body.into()
    }

    /// Holds an answer of the stand-in against the description; one that is none of the service's is a fault of the
    /// tests.
    #[track_caller]
    pub fn assert_answer(&self, status: u16, answer: &Value) {
        let responses = format!("{}/responses", self.pointer);
        let response = [status.to_string(), "default".to_owned()]
            .into_iter()
            .find(|status| self.api.at(&format!("{responses}/{status}")).is_some());
        let schema = match response {
            Some(response) => format!("{responses}/{response}/content/application~1json/schema"),
            // Refusals are described once, for all operations.
            None => "/components/schemas/ErrorResponse".to_owned(),
        };
        if self.api.at(&schema).is_some()
            && let Err(error) = self.api.judge(&schema, answer)
        {
            panic!("the stand-in's own answer is none of the service's: {error}\n{answer}");
        }
    }
}

fn fits(template: &str, path: &str) -> bool {
    let pieces = Regex::new(r"\{[^}]+\}").unwrap();
    let pattern: Vec<String> = pieces.split(template).map(regex::escape).collect();
    Regex::new(&format!("^{}$", pattern.join("[^/:]+")))
        .unwrap()
        .is_match(path)
}

/// A pointer as a reference has it.
fn escaped(pointer: &str) -> String {
    pointer.replace('{', "%7B").replace('}', "%7D")
}

/// OpenAPI 3.0 has `nullable`, which its judge does not know.
fn repair(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if map.get("nullable") == Some(&Value::Bool(true))
                && let Some(Value::String(kind)) = map.get("type").cloned()
            {
                map.insert("type".to_owned(), json!([kind, "null"]));
            }
            map.values_mut().for_each(repair);
        }
        Value::Array(items) => items.iter_mut().for_each(repair),
        _ => {}
    }
}
