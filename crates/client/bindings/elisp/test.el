;; -*- lexical-binding: t -*-
;; Run by tests/it/bindings.rs: `fake' can be installed, and the archive of `slow' never ends.
(require 'acp-registry)
(require 'ert)

(defun test-failure (registry method params)
  "The error of a request of METHOD with PARAMS to REGISTRY."
  (nth 2 (should-error (acp-registry-request registry method params) :type 'acp-registry-error)))

(ert-deftest a-failed-request-has-the-code-and-the-suggestions-of-the-command ()
  (let* ((registry (acp-registry-start :args (split-string (getenv "RPC_FLAGS"))))
         (failed (test-failure registry "info" '(:agent "fakee"))))
    (should (= (plist-get failed :code) -32002))
    (should (equal (plist-get (plist-get failed :data) :suggestions) ["fake"]))
    (acp-registry-close registry)))

(ert-deftest requests-run-at-the-same-time-and-one-can-be-cancelled ()
  (let* ((registry (acp-registry-start :args (split-string (getenv "RPC_FLAGS"))))
         downloading failed
         (id (acp-registry-begin
              registry "install" '(:agents ["slow"]) (lambda (problem _) (setq failed problem))
              :on-event (lambda (event)
                          (when (equal (plist-get event :phase) "downloading") (setq downloading t))))))
    (while (not downloading) (accept-process-output nil 1))
    (should (= (length (plist-get (acp-registry-request registry "list" nil) :agents)) 2))
    (acp-registry-cancel registry id)
    (while (not failed) (accept-process-output nil 1))
    (should (= (plist-get failed :code) -32800))
    (acp-registry-close registry)))

(ert-deftest an-answer-without-an-id-fails-the-requests-that-wait-for-one ()
  (let ((registry (acp-registry-start :program (getenv "RPC_NAMELESS"))))
    (should (= (plist-get (test-failure registry "list" nil) :code) -32700))
    (acp-registry-close registry)))

(ert-deftest an-error-in-a-callback-is-that-of-its-own-request ()
  (let* ((registry (acp-registry-start :args (split-string (getenv "RPC_FLAGS"))))
         (fail (lambda (&rest _) (error "Mine")))
         (failed (should-error (acp-registry-request registry "install" '(:agents ["slow"]) :on-event fail)
                               :type 'acp-registry-error))
         answered)
    (should (equal (cadr failed) "Mine"))
    ;; Their answers arrive at once.
    (cl-letf* ((warned nil) ((symbol-function 'display-warning) (lambda (_ text &rest _) (setq warned text))))
      (setf (acp-registry-calls registry) (make-hash-table))
      (puthash 1001 (list fail) (acp-registry-calls registry))
      (puthash 1002 (list (lambda (_ result) (setq answered result))) (acp-registry-calls registry))
      (acp-registry--receive registry "{\"id\":1001,\"result\":{}}\n{\"id\":1002,\"result\":{\"a\":1}}\n")
      (should (equal warned "Mine")))
    (should (equal answered '(:a 1)))
    (acp-registry-close registry)))

(ert-deftest a-program-that-ends-is-an-error-of-its-requests ()
  (let ((registry (acp-registry-start :args '("--no-such-flag"))))
    (should (string-match-p "has ended" (plist-get (test-failure registry "list" nil) :message)))
    (should (string-match-p "has ended" (plist-get (test-failure registry "list" nil) :message)))))
