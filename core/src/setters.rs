//! Chainable setters for structs of options, which cannot be written out as literals elsewhere: they
//! will grow.

/// One setter for each field, of the field's own name.
macro_rules! setters {
    ($name:ident { $($field:ident: $type:ty),* $(,)? }) => {
        impl $name {
            $(
                #[doc = concat!(
                    "The same with another [`", stringify!($field), "`](Self#structfield.",
                    stringify!($field), ")."
                )]
                #[must_use]
                pub fn $field(mut self, $field: $type) -> Self {
                    self.$field = $field;
                    self
                }
            )*
        }
    };
}

pub(crate) use setters;
