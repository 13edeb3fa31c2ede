//! Newtyped indices: a variable, a column and a node are different things and never mix.

macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u32);

        impl $name {
            /// The index `ix`.
            ///
            /// # Panics
            /// If `ix` does not fit 32 bits; every reader refuses data that large before.
            #[must_use]
            pub fn new(ix: usize) -> Self {
                Self(u32::try_from(ix).expect("index fits 32 bits"))
            }

            /// The index as a position in an array.
            #[must_use]
            pub fn get(self) -> usize {
                self.0 as usize
            }
        }
    };
}

index!(
    /// Index of a variable in a [`Schema`](crate::data::Schema).
    VarIx
);
index!(
    /// Index of a column in a [`Schema`](crate::data::Schema): a scalar variable is one column, a group has several.
    ColIx
);
index!(
    /// Index of a node in a [`Tree`](crate::tree::Tree).
    NodeIx
);
