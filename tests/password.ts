/** Everybody's in the tests, so that its hash is made once: argon2 is worth its time where passwords are the subject. */
export const PASSWORD = 'a long pass phrase of everybody'
