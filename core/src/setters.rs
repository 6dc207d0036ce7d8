//! Chainable setters for structs of options that are `non_exhaustive`.

/// Generates one setter for each field, with the name of the field. Setters of the optional fields,
/// which are `None` by default, take a value or an `Option`.
macro_rules! setters {
    (
        $name:ident { $($field:ident: $type:ty),* $(,)? }
        $(optional { $($optional:ident: $inner:ty),* $(,)? })?
    ) => {
        impl $name {
            $(
                #[doc = concat!(
                    "Sets [`", stringify!($field), "`](Self#structfield.", stringify!($field), ")."
                )]
                #[must_use]
                pub fn $field(mut self, $field: $type) -> Self {
                    self.$field = $field;
                    self
                }
            )*
            $($(
                #[doc = concat!(
                    "Sets [`", stringify!($optional), "`](Self#structfield.",
                    stringify!($optional), "), or `None`."
                )]
                #[must_use]
                pub fn $optional(mut self, $optional: impl Into<Option<$inner>>) -> Self {
                    self.$optional = $optional.into();
                    self
                }
            )*)?
        }
    };
}

pub(crate) use setters;
