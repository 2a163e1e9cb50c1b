//! What the rules need to know of language: words, sentences, values, and the marks people put in front of a text.
//! Portuguese, Spanish and English are first-class; anything else is handled by its characters.

pub mod folding;
pub mod sentence;
pub mod tags;
pub mod terms;
pub mod titles;
pub mod value;
