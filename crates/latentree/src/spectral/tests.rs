mod exact;
mod file;
mod hierarchical;
mod models;
mod population;
mod rows;
mod steps;
