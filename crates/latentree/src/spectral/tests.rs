mod exact;
mod models;
mod population;
mod rows;
