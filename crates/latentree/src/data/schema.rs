//! What the columns of a table mean.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Place, Result, Shortened};
use crate::index::{ColIx, VarIx};

/// What the values of one column are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Kind {
    /// One of two labels; code 1 is the event (a word occurs, a patient has the diagnosis), code 0 its absence.
    Binary {
        /// Label of code 0 and of code 1.
        labels: [String; 2],
    },
    /// One of any number of labels; the code is the label's position.
    Categorical {
        /// The labels in the order of their codes.
        labels: Vec<String>,
    },
    /// A real number.
    Continuous,
    /// A number of events: 0, 1, 2, …
    Count,
}

impl Kind {
    /// Binary with the labels `0` and `1`.
    #[must_use]
    pub fn binary() -> Self {
        Self::Binary { labels: ["0".to_owned(), "1".to_owned()] }
    }

    /// Categorical with the labels `0`, `1`, …, `n_states − 1`.
    #[must_use]
    pub fn numbered(n_states: usize) -> Self {
        Self::Categorical { labels: (0..n_states).map(|state| state.to_string()).collect() }
    }

    /// The labels of a discrete kind, in the order of their codes; `None` for numbers.
    #[must_use]
    pub fn labels(&self) -> Option<&[String]> {
        match self {
            Self::Binary { labels } => Some(labels),
            Self::Categorical { labels } => Some(labels),
            Self::Continuous | Self::Count => None,
        }
    }

    /// Number of labels of a discrete kind; `None` for numbers.
    #[must_use]
    pub fn n_states(&self) -> Option<usize> {
        self.labels().map(<[String]>::len)
    }

    /// The name users write: `binary`, `categorical`, `continuous` or `count`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Binary { .. } => "binary",
            Self::Categorical { .. } => "categorical",
            Self::Continuous => "continuous",
            Self::Count => "count",
        }
    }
}

/// One column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Unique name.
    pub name: String,
    /// What its values are.
    #[serde(flatten)]
    pub kind: Kind,
}

/// One variable of a model: a single column, or a group of columns taken as one vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Unique name; a scalar variable has the name of its column.
    pub name: String,
    /// Its columns, one for a scalar variable.
    pub columns: Vec<ColIx>,
    /// Whether it is vector-valued (a group may have a single member).
    pub is_group: bool,
}

/// The columns of a table and the variables they make. Column names are unique, and so are variable names.
///
/// As JSON it is `{"variables":[{"name":"age","kind":"continuous"},{"name":"250","kind":"group","members":[…]}]}`.
///
/// # Example
/// ```
/// use latentree::data::{Kind, Schema};
/// let schema = Schema::builder()
///     .scalar("smoker", Kind::binary())
///     .scalar("age", Kind::Continuous)
///     .build()?;
/// assert_eq!(schema.variables().len(), 2);
/// # Ok::<(), latentree::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "SchemaFile", into = "SchemaFile")]
pub struct Schema {
    columns: Vec<Column>,
    variables: Vec<Variable>,
    variable_of_column: Vec<VarIx>,
    column_by_name: Arc<HashMap<String, ColIx>>,
    variable_by_name: Arc<HashMap<String, VarIx>>,
    codes: Arc<Codes>,
    resolutions: Arc<Resolutions>,
}

/// Names in the data of columns and groups that have a name of their own here, such as the code of a described diagnosis.
#[derive(Debug, Default, PartialEq, Eq)]
struct Codes {
    code_of: BTreeMap<String, String>,
    name_of: HashMap<String, String>,
}

/// How finely the numbers of columns were recorded, by name. Tables with the same columns go together whatever it is.
#[derive(Debug, Default)]
struct Resolutions(BTreeMap<String, f64>);

impl PartialEq for Resolutions {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Resolutions {}

impl Schema {
    /// Starts an empty schema.
    #[must_use]
    pub fn builder() -> SchemaBuilder {
        SchemaBuilder::default()
    }

    /// The columns, in file order unless grouped.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The variables.
    #[must_use]
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// One column.
    #[must_use]
    pub fn column(&self, column: ColIx) -> &Column {
        &self.columns[column.get()]
    }

    /// One variable.
    #[must_use]
    pub fn variable(&self, variable: VarIx) -> &Variable {
        &self.variables[variable.get()]
    }

    /// The variable that a column belongs to.
    #[must_use]
    pub fn variable_of(&self, column: ColIx) -> VarIx {
        self.variable_of_column[column.get()]
    }

    /// The kind of a scalar variable's column; `None` for a group.
    #[must_use]
    pub fn scalar_kind(&self, variable: VarIx) -> Option<&Kind> {
        let variable = self.variable(variable);
        (!variable.is_group).then(|| &self.columns[variable.columns[0].get()].kind)
    }

    /// The column with this name.
    #[must_use]
    pub fn find_column(&self, name: &str) -> Option<ColIx> {
        self.column_by_name.get(name).copied()
    }

    /// The variable with this name.
    #[must_use]
    pub fn find_variable(&self, name: &str) -> Option<VarIx> {
        self.variable_by_name.get(name).copied()
    }

    /// The name in the data of a column or variable that was described: the code of a diagnosis.
    #[must_use]
    pub fn code_of(&self, name: &str) -> Option<&str> {
        self.codes.code_of.get(name).map(String::as_str)
    }

    /// The name of the column or variable with this code.
    #[must_use]
    pub fn name_of_code(&self, code: &str) -> Option<&str> {
        self.codes.name_of.get(code).map(String::as_str)
    }

    /// The typical distance of neighbouring values of a continuous column, such as 1 for ages in years; `None` if it is not known or
    /// the values are many. A state of a hidden variable is not narrower than that.
    #[must_use]
    pub fn resolution(&self, column: ColIx) -> Option<f64> {
        self.resolutions.0.get(&self.column(column).name).copied()
    }

    /// The variance of a normal density as high as an even one over a cell of the column's resolution r, r²/2π; 0 without one.
    pub(crate) fn least_variance(&self, column: ColIx) -> f64 {
        self.resolution(column).map_or(0.0, |it| it * it / std::f64::consts::TAU)
    }

    /// The column that the data call so: by its code, or by its name.
    #[must_use]
    pub fn find_data_column(&self, name: &str) -> Option<ColIx> {
        self.find_column(self.name_of_code(name).unwrap_or(name))
    }

    /// The same schema with descriptions for names; the former names become [codes](Self::code_of). A description that would not be
    /// unique is followed by the code in parentheses.
    ///
    /// # Errors
    /// [`Error::Data`] if a name is still not unique.
    pub fn described(&self, description_of: &HashMap<String, String>) -> Result<Self> {
        let names = || {
            let groups = self.variables.iter().filter(|variable| variable.is_group).map(|variable| &variable.name);
            self.columns.iter().map(|column| &column.name).chain(groups)
        };
        let mut n_uses: HashMap<&str, usize> = HashMap::new();
        for name in names() {
            *n_uses.entry(description_of.get(name).unwrap_or(name)).or_insert(0) += 1;
        }
        let mut codes: Vec<(String, String)> = Vec::new();
        let mut renamed = |name: &String| {
            let Some(description) = description_of.get(name).filter(|it| !it.is_empty() && *it != name) else {
                return name.clone();
            };
            let new = if n_uses[description.as_str()] > 1 { format!("{description} ({name})") } else { description.clone() };
            codes.push((new.clone(), name.clone()));
            new
        };
        let mut builder = Self::builder();
        for variable in &self.variables {
            let members = variable.columns.iter().map(|&column| {
                let Column { name, kind } = &self.columns[column.get()];
                Column { name: renamed(name), kind: kind.clone() }
            });
            let mut members: Vec<Column> = members.collect();
            builder = match variable.is_group {
                true => builder.group(renamed(&variable.name), members),
                false => {
                    let Column { name, kind } = members.swap_remove(0);
                    builder.scalar(name, kind)
                }
            };
        }
        let mut described = codes.into_iter().fold(builder, |builder, (name, code)| builder.code(name, code)).build()?;
        let names = self.columns.iter().zip(&described.columns);
        let resolutions = names.filter_map(|(old, new)| Some((new.name.clone(), *self.resolutions.0.get(&old.name)?)));
        described.resolutions = Arc::new(Resolutions(resolutions.collect()));
        Ok(described)
    }

    /// All variable indices in order.
    pub fn variable_ixs(&self) -> impl ExactSizeIterator<Item = VarIx> + use<> {
        (0..self.variables.len()).map(VarIx::new)
    }
}

/// Collects columns and groups; [`build`](Self::build) checks the names.
#[derive(Debug, Clone, Default)]
pub struct SchemaBuilder {
    columns: Vec<Column>,
    variables: Vec<Variable>,
    codes: BTreeMap<String, String>,
    resolutions: BTreeMap<String, f64>,
}

impl SchemaBuilder {
    /// Adds a variable of one column.
    #[must_use]
    pub fn scalar(mut self, name: impl Into<String>, kind: Kind) -> Self {
        let name = name.into();
        self.variables.push(Variable { name: name.clone(), columns: vec![ColIx::new(self.columns.len())], is_group: false });
        self.columns.push(Column { name, kind });
        self
    }

    /// Adds a vector-valued variable with its member columns.
    #[must_use]
    pub fn group(mut self, name: impl Into<String>, members: Vec<Column>) -> Self {
        let first = self.columns.len();
        let columns = (first..first + members.len()).map(ColIx::new).collect();
        self.variables.push(Variable { name: name.into(), columns, is_group: true });
        self.columns.extend(members);
        self
    }

    /// Says what the data call the column or group of this name.
    #[must_use]
    pub fn code(mut self, name: impl Into<String>, code: impl Into<String>) -> Self {
        self.codes.insert(name.into(), code.into());
        self
    }

    /// Says how finely the numbers of the column of this name were recorded; see [`Schema::resolution`].
    #[must_use]
    pub fn resolution(mut self, name: impl Into<String>, resolution: f64) -> Self {
        self.resolutions.insert(name.into(), resolution);
        self
    }

    /// Takes the codes and resolutions of another schema for the columns and groups that were added so far.
    #[must_use]
    pub fn codes_of(mut self, other: &Schema) -> Self {
        let columns = self.columns.iter().map(|column| &column.name);
        let names: Vec<String> = columns.chain(self.variables.iter().map(|variable| &variable.name)).cloned().collect();
        for name in names {
            if let Some(code) = other.code_of(&name) {
                self.codes.insert(name.clone(), code.to_owned());
            }
            if let Some(&resolution) = other.resolutions.0.get(&name) {
                self.resolutions.insert(name, resolution);
            }
        }
        self
    }

    /// Checks the names and labels and makes the schema.
    ///
    /// # Errors
    /// [`Error::Data`] if a name is empty or appears twice, a group is empty, or a column has a label twice.
    pub fn build(self) -> Result<Schema> {
        let Self { columns, variables, codes, resolutions } = self;
        let mut column_by_name = HashMap::with_capacity(columns.len());
        for (ix, column) in columns.iter().enumerate() {
            if column.name.is_empty() {
                return Err(Error::data(Place::default(), format!("column {} has no name", ix + 1)));
            }
            if let Some(earlier) = column_by_name.insert(column.name.clone(), ColIx::new(ix)) {
                return Err(Error::data(
                    Place::default().column(&column.name),
                    format!("columns {} and {} have the same name; rename one", earlier.get() + 1, ix + 1),
                ));
            }
            if let Some(labels) = column.kind.labels() {
                let mut seen = std::collections::HashSet::with_capacity(labels.len());
                if let Some(twice) = labels.iter().find(|label| !seen.insert(label.as_str())) {
                    let problem = format!("label {:?} appears twice", Shortened(twice));
                    return Err(Error::data(Place::default().column(&column.name), problem));
                }
                if labels.is_empty() {
                    return Err(Error::data(Place::default().column(&column.name), "a discrete column needs at least one label"));
                }
            }
        }
        let mut variable_by_name = HashMap::with_capacity(variables.len());
        let mut variable_of_column = vec![VarIx::new(0); columns.len()];
        for (ix, variable) in variables.iter().enumerate() {
            if variable.columns.is_empty() {
                return Err(Error::data(Place::default().column(&variable.name), "a group needs at least one member"));
            }
            if variable.name.is_empty() {
                return Err(Error::data(Place::default(), "a group has no name"));
            }
            if variable_by_name.insert(variable.name.clone(), VarIx::new(ix)).is_some() {
                let problem = "two variables have this name (a group must not have the name of a column outside it)";
                return Err(Error::data(Place::default().column(&variable.name), problem));
            }
            for &column in &variable.columns {
                variable_of_column[column.get()] = VarIx::new(ix);
            }
        }
        let mut name_of = HashMap::with_capacity(codes.len());
        for (name, code) in &codes {
            if !column_by_name.contains_key(name) && !variable_by_name.contains_key(name) {
                return Err(Error::data(Place::default().column(name), "a code is given for it, but it is no column or group"));
            }
            if let Some(other) = name_of.insert(code.clone(), name.clone()) {
                let problem = format!("it has the code {:?} of {:?}", Shortened(code), Shortened(&other));
                return Err(Error::data(Place::default().column(name), problem));
            }
        }
        if let Some((name, resolution)) = resolutions.iter().find(|it| !(it.1.is_finite() && *it.1 > 0.0)) {
            let problem = format!("its resolution is {resolution}, which is not a number above 0");
            return Err(Error::data(Place::default().column(name), problem));
        }
        if let Some(name) = resolutions.keys().find(|name| !column_by_name.contains_key(*name)) {
            return Err(Error::data(Place::default().column(name), "a resolution is given for it, but it is not a column"));
        }
        Ok(Schema {
            resolutions: Arc::new(Resolutions(resolutions)),
            columns,
            codes: Arc::new(Codes { code_of: codes, name_of }),
            variables,
            variable_of_column,
            column_by_name: Arc::new(column_by_name),
            variable_by_name: Arc::new(variable_by_name),
        })
    }
}

/// The JSON shape of a [`Schema`].
#[derive(Serialize, Deserialize)]
#[serde(expecting = "an object with a list \"variables\"")]
struct SchemaFile {
    variables: Vec<VariableFile>,
    /// By name, what the data call a column or group.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    codes: BTreeMap<String, String>,
    /// By column, how finely its numbers were recorded.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    resolutions: BTreeMap<String, f64>,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", expecting = "a variable, such as {\"kind\": \"count\", \"name\": \"visits\"}")]
enum VariableFile {
    Binary { name: String, labels: [String; 2] },
    Categorical { name: String, labels: Vec<String> },
    Continuous { name: String },
    Count { name: String },
    Group { name: String, members: Vec<Column> },
}

impl From<Schema> for SchemaFile {
    fn from(schema: Schema) -> Self {
        let variables = schema.variables.iter().map(|variable| {
            let members: Vec<Column> = variable.columns.iter().map(|&ix| schema.columns[ix.get()].clone()).collect();
            let name = variable.name.clone();
            if variable.is_group {
                return VariableFile::Group { name, members };
            }
            match members.into_iter().next().expect("a variable has a column").kind {
                Kind::Binary { labels } => VariableFile::Binary { name, labels },
                Kind::Categorical { labels } => VariableFile::Categorical { name, labels },
                Kind::Continuous => VariableFile::Continuous { name },
                Kind::Count => VariableFile::Count { name },
            }
        });
        let (variables, codes) = (variables.collect(), schema.codes.code_of.clone());
        Self { variables, codes, resolutions: schema.resolutions.0.clone() }
    }
}

impl TryFrom<SchemaFile> for Schema {
    type Error = Error;

    fn try_from(file: SchemaFile) -> Result<Self> {
        let builder = Self::builder();
        let builder = file.codes.into_iter().fold(builder, |builder, (name, code)| builder.code(name, code));
        let builder = file.resolutions.into_iter().fold(builder, |builder, (name, it)| builder.resolution(name, it));
        let builder = file.variables.into_iter().fold(builder, |builder, variable| match variable {
            VariableFile::Binary { name, labels } => builder.scalar(name, Kind::Binary { labels }),
            VariableFile::Categorical { name, labels } => builder.scalar(name, Kind::Categorical { labels }),
            VariableFile::Continuous { name } => builder.scalar(name, Kind::Continuous),
            VariableFile::Count { name } => builder.scalar(name, Kind::Count),
            VariableFile::Group { name, members } => builder.group(name, members),
        });
        builder.build()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_faulty_schema_is_told_without_names_of_types() {
        for text in ["3", "{\"variables\": [\"x\"]}", "{\"variables\": [{\"kind\": \"count\"}]}"] {
            let message = serde_json::from_str::<Schema>(text).unwrap_err().to_string();
            assert!(!message.contains("File") && !message.contains("enum") && !message.contains("struct"), "{message}");
        }
    }

    #[test]
    fn described_columns_are_found_by_their_codes_and_survive_a_file() {
        let schema = Schema::builder()
            .scalar("250", Kind::binary())
            .scalar("401", Kind::binary())
            .scalar("x", Kind::Count)
            .build()
            .unwrap();
        let texts = [("250", "401"), ("401", "Hypertension"), ("none", "?")];
        let described = schema.described(&texts.map(|(code, text)| (code.to_owned(), text.to_owned())).into()).unwrap();
        // A description that is the code of another column does not confuse them.
        let names: Vec<&str> = described.columns().iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["401", "Hypertension", "x"]);
        assert_eq!(described.find_data_column("250"), Some(ColIx::new(0)));
        assert_eq!(described.find_data_column("401"), Some(ColIx::new(1)));
        assert_eq!(described.find_data_column("x"), Some(ColIx::new(2)));
        assert_eq!((described.code_of("Hypertension"), described.code_of("x")), (Some("401"), None));
        let read: Schema = serde_json::from_str(&serde_json::to_string(&described).unwrap()).unwrap();
        assert_eq!(read, described);
        let same = schema.described(&[("250", "A"), ("401", "A")].map(|(code, text)| (code.to_owned(), text.to_owned())).into());
        assert_eq!(same.unwrap().columns()[1].name, "A (401)");
    }
}
