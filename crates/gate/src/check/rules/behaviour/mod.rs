//! Rules about what agents do to the machine while they are started.

pub(super) mod reads_secrets;
