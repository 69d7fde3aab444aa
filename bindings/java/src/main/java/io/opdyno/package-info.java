/** Runs compiled tensor programs, and shows where their time goes. What may be null is {@code Nullable}. */
@NullMarked
package io.opdyno;

import org.jspecify.annotations.NullMarked;
